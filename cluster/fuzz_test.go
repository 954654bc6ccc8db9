package cluster

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/membership"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/queue"
)

// FuzzMembershipRequest checks that after any request a leader without learners is still the leader
// and the only voter of its cluster. Other tests cover the requests of members.
func FuzzMembershipRequest(f *testing.F) {
	for _, op := range []string{membership.OpMembers, membership.OpAdd, membership.OpRemove, membership.OpPromote, membership.OpReplace,
		membership.OpTransfer, membership.OpIsMember, membership.OpJoin, membership.OpInvite} {
		text, err := json.Marshal(membership.Request{Op: op, From: "b-2", Node: "n1", BudgetMillis: 20, Final: true,
			Record: &storage.Membership{ClusterID: "x"}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, true)
	}
	n, err := Open(f.Context(), Config{
		NodeName: "n1", DataDir: f.TempDir(), PeerAddr: "127.0.0.1:0", GossipAddr: "127.0.0.1:0", BootstrapExpect: 1,
		Log: LogPolicy{SegmentBytes: 64 << 10}, Logger: slog.New(slog.DiscardHandler),
		Fatal: func(code fault.ExitCode, err error) { f.Errorf("exit %d: %v", code, err) },
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = n.Close(f.Context()) })                          // the process ends
	if _, err := n.Submit(f.Context(), &queue.AdvanceClock{}); err != nil { // it waits for a leader
		f.Fatal(err)
	}
	before, err := n.Members(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, input []byte, knowsCluster bool) {
		var r membership.Request
		if json.Unmarshal(input, &r) != nil {
			return
		}
		if knowsCluster { // and is a member
			r.Cluster, r.From = before.ClusterID, n.process.nodeID
		}
		r.BudgetMillis = 20 // else some wait for something that never happens
		text, err := json.Marshal(r)
		clustertest.Must(t, err)
		near, far := net.Pipe()
		var serving sync.WaitGroup
		questions := n.members.Questions()
		inner := questions.Answer
		questions.Answer = func(ctx context.Context, _ string, r membership.Request) (membership.Answer, func()) {
			return inner(ctx, r.From, r) // as if its handshake had proved it
		}
		serving.Go(func() { questions.ServeConn(n.stages.life, far) })
		defer serving.Wait()
		defer near.Close()
		clustertest.Must(t, clustertest.Err(near.Write(append(text, '\n'))))
		var answer membership.Answer
		if err := json.NewDecoder(near).Decode(&answer); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !slices.Contains([]string{membership.Done, membership.Refused, membership.Elsewhere, membership.Unknown}, answer.Verdict) {
			t.Fatalf("%s: answered %+v", text, answer)
		}
		// An unauthenticated caller may become a learner, but cannot change the voters or the
		// leader.
		after := n.LocalMembers(t.Context())
		if after.Voters != before.Voters || after.LeaderID != before.LeaderID {
			t.Fatalf("%s: members %+v became %+v", text, before, after)
		}
	})
}
