package crash

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// TestFollowerSurvivesEveryPowerCut keeps one of three nodes away, so that every acknowledged entry
// is on the recorded node. That node follows, leads and follows again, installs a snapshot, and
// restarts.
func TestFollowerSurvivesEveryPowerCut(t *testing.T) {
	if !*long {
		t.Skip("this takes long; `make crash` runs it")
	}
	s := newScript(t, 3, "n3")
	away, leading := s.cluster.Nodes[1], s.cluster.Nodes[0]
	s.lead(leading)
	s.begin()
	must(t, away.Kill())
	s.confirm()
	ops := func(n int) {
		t.Helper()
		for range n {
			s.step()
		}
	}
	ops(longOps / 4)
	s.lead(s.node)
	ops(longOps / 4)
	s.lead(leading)
	s.voted(leading)
	ops(longOps / 8)

	// While the other node is down, every acknowledgement needs this one.
	must(t, s.node.Kill(), away.Start(), away.WaitReady(t.Context(), waitMax))
	s.silent = true
	ops(longOps / 2)
	must(t, s.node.Start(), s.node.WaitReady(t.Context(), waitMax))
	s.silent = false
	s.lead(leading)
	must(t, away.Kill())
	s.confirm()
	ops(longOps / 4)

	s.made.events = s.journal.all()
	metrics, err := s.node.Metrics(t.Context())
	must(t, err)
	if strings.Contains(metrics, "seriatim_raft_snapshots_restored_total 0\n") {
		t.Error("no snapshot was sent to the recorded node")
	}
	s.cluster.Close()
	judge(t, s.made, trialNode{name: "n3", store: "wal"}).report(t, s.made)
}

// voted records that the leader has the recorded node's vote, since one of three nodes is down.
func (s *script) voted(leader *harness.Node) {
	s.t.Helper()
	status, err := leader.Status(s.t.Context())
	must(s.t, err)
	s.vote.voted, s.vote.candidate = status.Term, status.NodeID
}

// lead makes a node the leader.
func (s *script) lead(wanted *harness.Node) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), waitMax)
	defer cancel()
	for {
		leader, err := s.cluster.WaitLeader(ctx, waitMax)
		must(s.t, err)
		if leader == wanted {
			s.asked = wanted
			return
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+leader.Admin+"/v1/cluster/transfer-leader",
			strings.NewReader(`{"node":"`+wanted.Name+`"}`))
		must(s.t, err)
		request.Header.Set("Content-Type", "application/json")
		// Repeat a refused request: a follower may have to catch up first.
		if response, err := http.DefaultClient.Do(request); err == nil {
			response.Body.Close()
		}
		if ctx.Err() != nil {
			s.t.Fatalf("%s does not become the leader", wanted.Name)
		}
	}
}
