package cluster

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/storage"
)

// FuzzMembershipRequest: whatever a node asks about the members, a leader without
// learners stays the only member of its cluster and goes on leading. What other
// nodes can prove is tested elsewhere.
func FuzzMembershipRequest(f *testing.F) {
	for _, op := range []string{opMembers, opAdd, opRemove, opPromote, opReplace, opTransfer, opIsMember, opJoin, opInvite} {
		text, err := json.Marshal(membershipRequest{Op: op, From: "b-2", Node: "n1", BudgetMillis: 20, Final: true, Record: &storage.Membership{ClusterID: "x"}})
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
	f.Cleanup(func() { _ = n.Close(f.Context()) })                                             // the process ends
	if _, err := n.changeAtLeader(f.Context(), membershipRequest{Op: opMembers}); err != nil { // it waits for a leader
		f.Fatal(err)
	}
	before := n.memberList()
	f.Fuzz(func(t *testing.T, input []byte, knowsCluster bool) {
		var r membershipRequest
		if json.Unmarshal(input, &r) != nil {
			return
		}
		if knowsCluster { // and is a member
			r.Cluster, r.From = before.ClusterID, n.process.nodeID
		}
		r.BudgetMillis = 20 // else some wait for what never comes
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		near, far := net.Pipe()
		var serving sync.WaitGroup
		questions := n.membershipQuestions()
		inner := questions.Answer
		questions.Answer = func(ctx context.Context, _ string, r membershipRequest) (membershipAnswer, func()) {
			return inner(ctx, r.From, r) // as its handshake would show
		}
		serving.Go(func() { questions.ServeConn(n.life, far) })
		defer serving.Wait()
		defer near.Close()
		if _, err := near.Write(append(text, '\n')); err != nil {
			t.Fatal(err)
		}
		var answer membershipAnswer
		if err := json.NewDecoder(near).Decode(&answer); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !slices.Contains([]string{changeDone, changeRefused, changeElsewhere, changeUnknown}, answer.Verdict) {
			t.Fatalf("%s: answered %+v", text, answer)
		}
		// Learners may join; who votes and who leads is not for strangers to say.
		after := n.memberList()
		if after.Voters != before.Voters || after.LeaderID != before.LeaderID {
			t.Fatalf("%s: members %+v became %+v", text, before, after)
		}
	})
}
