package membership

import (
	"slices"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cluster/health"
)

func TestAssessment(t *testing.T) {
	// Each letter is a voter: the leader, one that answers, is behind, or is gone;
	// a lower-case one is a learner.
	cases := []struct {
		members, summary string
		healthy          bool
		mayFail          int
		warning          string
	}{
		{"L", "Healthy: 1 of 1 voters answer, leader n1, all caught up; no node may fail", true, 0, "1 voter"},
		{"LA", "Healthy: 2 of 2 voters answer, leader n1, all caught up; no node may fail", true, 0, "2 voters survive no failure"},
		{"LAA", "Healthy: 3 of 3 voters answer, leader n1, all caught up; 1 node may fail", true, 1, ""},
		{"LABg", "Healthy: 3 of 3 voters answer, leader n1, 1 catching up; 1 node may fail", true, 1, "n3 is 1025 log entries behind"},
		{"LAG", "Degraded: 2 of 3 voters answer, leader n1; no further node may fail", false, 0, ""},
		{"LAAA", "Healthy: 4 of 4 voters answer, leader n1, all caught up; 1 node may fail", true, 1, "as many failures as 3"},
		{"LAAG", "Degraded: 3 of 4 voters answer, leader n1; no further node may fail", false, 0, "as many failures as 3"},
		{"LAAAG", "Degraded: 4 of 5 voters answer, leader n1; 1 further node may fail", false, 1, ""},
		{"LAAAA", "Healthy: 5 of 5 voters answer, leader n1, all caught up; 2 nodes may fail", true, 2, ""},
		{"LGG", "No majority: 1 of 3 voters answer, 2 are needed, leader n1", false, 0, ""},
		{"AAG", "No leader: 2 of 3 voters answer, 2 are needed", false, 0, ""},
		{"", "No cluster yet: it waits", false, 0, ""},
	}
	for _, test := range cases {
		t.Run(test.members, func(t *testing.T) {
			list := MemberList{}
			for i, kind := range test.members {
				m := MemberStatus{NodeID: string(rune('1'+i)) + "-x", Name: "n" + string(rune('1'+i)), Role: RoleVoter,
					Healthy: kind != 'G' && kind != 'g'}
				switch kind {
				case 'L':
					m.Role, list.LeaderID = RoleLeader, m.NodeID
				case 'B':
					m.LagEntries = LagMax + 1
				case 'g':
					m.Role = RoleLearner
				}
				list.Members = append(list.Members, m)
			}
			list.assess("it waits")
			if f := list.Findings[len(list.Findings)-1]; f.Check != health.Quorum ||
				f.Value < 0 != (!strings.Contains(test.summary, "; ")) || f.Value >= 0 && f.Value != float64(test.mayFail) {
				t.Errorf("the finding about the quorum is %+v", f)
			}
			if list.Summary != test.summary || list.Healthy != test.healthy || list.MayFail != test.mayFail {
				t.Errorf("got %q, %v, %d", list.Summary, list.Healthy, list.MayFail)
			}
			if text := strings.Join(list.Warnings, "\n"); (text == "") != (test.warning == "") || !strings.Contains(text, test.warning) {
				t.Errorf("warnings %q", text)
			}
		})
	}
}

// The summary begins with critical checks, and then the cluster is not healthy.
func TestWhatIsCriticalIsNotHealthy(t *testing.T) {
	voter := func(id string, role string, healthy bool) MemberStatus {
		return MemberStatus{NodeID: id, Name: id, Role: role, Healthy: healthy}
	}
	for _, test := range []struct {
		found   []health.Finding
		n3      bool
		summary string
		healthy bool
	}{
		{nil, true, "Healthy: 3 of 3", true},
		{[]health.Finding{health.Found(health.Disk, "", 15, "its disk is low")}, true, "Healthy: 3 of 3", true},
		{[]health.Finding{health.Found(health.Sends, "", 2, "sends are refused")}, true,
			"Sends are refused: 3 of 3 voters answer, leader n1", false},
		{[]health.Finding{health.Found(health.Replicas, "", 2, "they differ"), health.Found(health.Dedup, "q", 100, "it is full")}, true,
			"Critical (replicas, dedup): 3 of 3", false},
		{[]health.Finding{health.Found(health.Members, "", 2, "is not ready")}, true, "Critical (members): 3 of 3", false},
		{[]health.Finding{health.Found(health.Members, "", 2, "does not answer")}, false, "Degraded: 2 of 3", false},
		{[]health.Finding{health.Found(health.Sends, "", 2, "sends are refused")}, false,
			"Sends are refused: 2 of 3 voters answer, leader n1; no further node may fail", false},
	} {
		list := MemberList{LeaderID: "n1",
			Members: []MemberStatus{voter("n1", RoleLeader, true), voter("n2", RoleVoter, true), voter("n3", RoleVoter, test.n3)}}
		list.found("n1", test.found...)
		list.assess("")
		if !strings.HasPrefix(list.Summary, test.summary) || list.Healthy != test.healthy {
			t.Errorf("%+v: %q, healthy %v", test.found, list.Summary, list.Healthy)
		}
		for _, f := range test.found {
			if f.Level != health.OK && !slices.Contains(list.Warnings, "n1: "+f.Text) {
				t.Errorf("%q is not among %q", f.Text, list.Warnings)
			}
		}
	}
}
