package consensus

import (
	"context"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
)

// oneHistory is the history of a node that has applied ten entries of term 3.
func oneHistory(t *testing.T) (n *lone, leader *played, ends *clustertest.FatalRecord) {
	t.Helper()
	ends = clustertest.NewFatalRecord()
	n = newLone(t, t.TempDir(), func(options *Options) { options.Fatal = ends.Fatal })
	n.start()
	leader = n.play("leader")
	if got := leader.appends(n, &raft.AppendEntriesRequest{Term: 3, Entries: leader.logs(3, 1, 10), LeaderCommitIndex: 10}); !got.Success {
		t.Fatal("the log is refused")
	}
	clustertest.Must(t, n.group.WaitApplied(clustertest.Context(t), 10))
	return n, leader, ends
}

func wantForeign(t *testing.T, ends *clustertest.FatalRecord) {
	t.Helper()
	codes, errs := ends.All()
	if len(codes) != 1 || codes[0] != fault.ExitOtherHistory {
		t.Errorf("it ends with %v, %v", codes, errs)
	}
}

// Applied entries are never replaced; the library would replace them.
func TestEntriesThatContradictWhatIsApplied(t *testing.T) {
	t.Parallel()
	n, leader, ends := oneHistory(t)
	message := &raft.AppendEntriesRequest{RPCHeader: leader.header(), Term: 4, PrevLogEntry: 5, PrevLogTerm: 3,
		Entries: leader.logs(4, 6, 12), LeaderCommitIndex: 12}
	var answer raft.AppendEntriesResponse
	if err := leader.trans.AppendEntries(n.id(), n.trans.LocalAddr(), message, &answer); err == nil {
		t.Errorf("answered with %+v", answer)
	}
	wantForeign(t, ends)
	var entry raft.Log
	if err := n.group.stores.log.GetLog(10, &entry); err != nil || entry.Term != 3 || n.raft.LastIndex() != 10 {
		t.Errorf("entry 10 is of term %d (%v), the log ends at %d", entry.Term, err, n.raft.LastIndex())
	}
}

// A deposed leader is ignored, and repeated entries do not contradict.
func TestLateEntriesContradictNothing(t *testing.T) {
	t.Parallel()
	n, leader, ends := oneHistory(t)
	for _, message := range []*raft.AppendEntriesRequest{
		{Term: 2, PrevLogEntry: 5, PrevLogTerm: 2, Entries: leader.logs(2, 6, 12), LeaderCommitIndex: 5},
		{Term: 3, PrevLogEntry: 5, PrevLogTerm: 3, Entries: leader.logs(3, 6, 10), LeaderCommitIndex: 10},
	} {
		answer := leader.appends(n, message)
		n.inbound.history.answered(message, answer, 10)
		if answer.Success != (message.Term == 3) {
			t.Errorf("%+v", answer)
		}
	}
	if codes, errs := ends.All(); len(codes) != 0 {
		t.Errorf("it ends with %v, %v", codes, errs)
	}
}

// A refusal also reveals that the entry before the sent ones differs.
func TestRefusedEntryOfAnotherTerm(t *testing.T) {
	t.Parallel()
	n, leader, ends := oneHistory(t)
	message := &raft.AppendEntriesRequest{Term: 5, PrevLogEntry: 8, PrevLogTerm: 4}
	n.inbound.history.answered(message, leader.appends(n, message), 10)
	wantForeign(t, ends)
}

// A leader that keeps sending a snapshot which ends before the applied entries has another history,
// unless its log matched in between.
func TestSnapshotsOfAnotherHistory(t *testing.T) {
	t.Parallel()
	n, leader, ends := oneHistory(t)
	leader.installs(n, 4, 30, 4)
	offer := func(times int) {
		for range times {
			if _, resp, err := leader.offers(n, 4, 8, 3); err != nil || resp.Success {
				t.Errorf("%+v, %v", resp, err)
			}
		}
	}
	offer(refusedMax - 1)
	n.inbound.history.match(4)
	offer(refusedMax - 1)
	if codes, errs := ends.All(); len(codes) != 0 {
		t.Fatalf("it ends with %v, %v", codes, errs)
	}
	offer(1)
	wantForeign(t, ends)
	if last := n.raft.LastIndex(); last != 30 {
		t.Errorf("the log ends at %d", last)
	}
}

// The index of a leader is valid for reads here only after that leader matched the end of its log
// with this node's.
func TestReadWaitsForTheLeadersLog(t *testing.T) {
	t.Parallel()
	n, _, _ := oneHistory(t)
	n.group.watches.history = n.inbound.history
	n.group.watches.history.match(3)
	ctx := clustertest.Context(t)
	clustertest.Must(t, n.group.WaitRead(ctx, 3, 10))
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if err := n.group.WaitRead(short, 4, 7); err == nil {
		t.Error("answered for a leader that has not found its log here")
	}
	n.group.watches.history.match(4)
	clustertest.Must(t, n.group.WaitRead(ctx, 4, 7))
}
