package cluster

import (
	"encoding/json"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/peerpb"
	"github.com/seriatimq/seriatim/cluster/storage"
)

// FuzzRequestFrame: whatever frame another node sends, the leader does not panic,
// proposes nothing that it cannot read itself, and answers each request once.
func FuzzRequestFrame(f *testing.F) {
	add := func(requests ...*peerpb.Request) {
		frame, err := proto.Marshal(&peerpb.RequestFrame{LeaderId: "leader", SenderId: "asker", Requests: requests})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(frame)
	}
	add(&peerpb.Request{Id: 1, Kind: submitRequest, Term: 5, Command: []byte{1, 1, 0, 0, 0, 0}}, &peerpb.Request{Id: 1, Kind: cancelRequest})
	add(&peerpb.Request{Id: 2, Kind: receiveKind, Term: 5, WaitMillis: 1 << 62, BudgetMillis: 1 << 63})
	add(&peerpb.Request{Id: 3, Kind: auditRequest, Term: 5})
	f.Fuzz(func(t *testing.T, input []byte) {
		frame := new(peerpb.RequestFrame)
		if proto.Unmarshal(input, frame) != nil {
			return
		}
		s := newServing(t)
		s.audits = newAuditor(t.TempDir(), slog.New(slog.DiscardHandler))
		in := &inbound{server: s.peerServer, cancels: make(map[uint64]func()), wake: make(chan struct{}, 1)}
		wanted := map[uint64]int{}
		var running sync.WaitGroup
		for _, r := range frame.Requests {
			// Reads and receives need a tenure with a log and a state.
			if r.Kind == readIndexRequest || r.Kind == receiveKind && r.Term == 5 && frame.GroupId == thisGroup && frame.LeaderId == "leader" {
				continue
			}
			if r.Kind != cancelRequest {
				wanted[r.Id]++
			}
			in.accept(t.Context(), &running, frame, r)
		}
		running.Wait()
		in.cancelAll()
		got := map[uint64]int{}
		for _, a := range in.answers {
			got[a.id]++
		}
		for id, n := range got {
			if n > wanted[id] {
				t.Errorf("request %d was asked %d times and answered %d times", id, wanted[id], n)
			}
		}
	})
}

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
		if knowsCluster {
			r.Cluster = before.ClusterID
		}
		r.BudgetMillis = 20 // else some wait for what never comes
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		near, far := net.Pipe()
		var serving sync.WaitGroup
		serving.Go(func() { n.membershipQuestions().ServeConn(n.life, far) })
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
