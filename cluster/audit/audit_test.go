package audit

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/peerpb"
	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
)

func newTestAuditor(t *testing.T) *Auditor {
	return New(Options{NodeID: "a", DataDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
}

func TestAuditFinding(t *testing.T) {
	value := func(b byte) hashes { return hashes{[16]byte{b}, [16]byte{9}} }
	reports := func(values string) (reports []queue.AuditReport) {
		for i, b := range []byte(values) {
			reports = append(reports, value(b).report(string(rune('a'+i))))
		}
		return reports
	}
	own := func(b byte) *hashes { v := value(b); return &v }
	cases := []struct {
		name    string
		reports string // the first is of node a, this one
		own     *hashes
		want    finding
		odd     []string
	}{
		{"no report", "", own(1), tooFew, nil},
		{"alone", "1", own('1'), tooFew, nil},
		{"all equal", "111", own('1'), allEqual, nil},
		{"two equal, one missing", "11", own('1'), allEqual, nil},
		{"this one is odd", "211", own('2'), thisOdd, []string{"a"}},
		{"another is odd", "112", own('1'), othersOdd, []string{"c"}},
		{"another is odd and this one has no note", "112", nil, othersOdd, []string{"c"}},
		{"two differ", "12", own('1'), noMajority, nil},
		{"three differ", "123", own('1'), noMajority, nil},
		{"two against two", "1122", own('1'), noMajority, nil},
		{"two against three", "11222", own('1'), thisOdd, []string{"a", "b"}},
		{"three against two", "11122", own('1'), othersOdd, []string{"d", "e"}},
		{"two equal, of five", "11234", own('1'), noMajority, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, odd := comparison{audit: queue.Audit{Reports: reports(c.reports)}, own: c.own}.finding("a")
			if diff := cmp.Diff(c.odd, odd); got != c.want || diff != "" {
				t.Errorf("got %d, want %d, odd (-want +got):\n%s", got, c.want, diff)
			}
		})
	}
	t.Run("the note of this node counts, although it was not reported", func(t *testing.T) {
		c := comparison{audit: queue.Audit{Reports: reports("12")}, own: own('2')}
		if got, odd := c.finding("z"); got != othersOdd || !cmp.Equal(odd, []string{"a"}) {
			t.Errorf("got %d, odd %v", got, odd)
		}
	})
}

// Reports with another version of the hash are not compared.
func TestAuditsOfOtherVersions(t *testing.T) {
	a := newTestAuditor(t)
	a.Applied(snapshot.Position{Index: 7, StateHash: [16]byte{1}}, &queue.Audit{HashVersion: a.hashVersion})
	sent := func(node string, version uint32, state byte) {
		hash := [16]byte{state}
		a.Collect(&peerpb.Audit{NodeId: node, HashVersion: version, Index: 7, State: hash[:], Chain: make([]byte, 16)})
	}
	sent("b", a.hashVersion+1, 2)
	sent("c", a.hashVersion, 3)
	a.Collect(&peerpb.Audit{NodeId: "d", HashVersion: a.hashVersion, Index: 7, State: []byte{4}})
	members := []consensus.Member{{NodeID: "d"}, {NodeID: "c"}, {NodeID: "b"}, {NodeID: "a"}}
	want := &queue.Audit{HashVersion: a.hashVersion, Index: 7, Reports: []queue.AuditReport{
		{NodeID: "a", State: [16]byte{1}}, {NodeID: "c", State: [16]byte{3}},
	}}
	if diff := cmp.Diff(want, a.next(members)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(1, len(a.next(members[3:]).Reports)); diff != "" {
		t.Errorf("a node that is no member was counted")
	}
	want.HashVersion++
	if err := a.evaluate(comparison{audit: *want, own: &hashes{}}, snapshot.Position{}); err != nil ||
		a.outcomes[otherVersion].Load() != 2 {
		t.Errorf("an audit of another version was evaluated: %v", err)
	}
}

// An audit waits for late reports, so that a slow node is compared, too. It does not wait
// long for a node that is down.
func TestAuditWaitsForReports(t *testing.T) {
	a := newTestAuditor(t)
	members := []consensus.Member{{NodeID: "a"}, {NodeID: "b"}, {NodeID: "c"}}
	if !a.complete(members) {
		t.Error("waits for reports before the first audit")
	}
	a.Applied(snapshot.Position{Index: 7}, &queue.Audit{})
	for _, node := range []string{"b", "c"} {
		if a.complete(members) {
			t.Errorf("all had reported before %s reported", node)
		}
		a.Collect(&peerpb.Audit{NodeId: node, HashVersion: a.hashVersion, Index: 7, State: make([]byte, 16), Chain: make([]byte, 16)})
	}
	if !a.complete(members) {
		t.Error("still waits after all reported")
	}

	hand := clustertest.NewHandClock(1_000_000)
	a.Clock, a.Policy = hand, Policy{Interval: time.Second}
	s := schedule{Auditor: a}
	a.split.Store(true)
	a.Applied(snapshot.Position{Index: 8}, &queue.Audit{})
	s.last = hand.Monotonic()
	if s.due(members) {
		t.Error("due without the reports")
	}
	hand.Pass(reportIntervalsMax * time.Second)
	if !s.due(members) {
		t.Error("not due, although it waited long enough")
	}
}
