package consensus

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// sentAppends is a pipeline that records its messages.
type sentAppends struct{ sent []raft.AppendEntriesRequest }

func (s *sentAppends) AppendEntries(args *raft.AppendEntriesRequest, _ *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	s.sent = append(s.sent, *args)
	return nil, nil
}
func (s *sentAppends) Consumer() <-chan raft.AppendFuture { return nil }
func (s *sentAppends) Close() error                       { return nil }

// slowAppends is a pipeline that would block its sender.
type slowAppends struct {
	sentAppends
	waits bool
}

func (s *slowAppends) sendEarly(*raft.AppendEntriesRequest, bool) (*appended, func() error, error) {
	return nil, nil, errBusy
}
func (s *slowAppends) request(*appended) error { return nil }
func (s *slowAppends) busy() bool              { return s.waits }

type fixedCommit struct {
	commit, term uint64
	state        raft.RaftState
	barriers     *int
}

func (f fixedCommit) Barrier(time.Duration) raft.Future {
	*f.barriers++
	return nil
}

func (f fixedCommit) CommitIndex() uint64   { return f.commit }
func (f fixedCommit) CurrentTerm() uint64   { return f.term }
func (f fixedCommit) State() raft.RaftState { return f.state }

// A follower that lags by more than one message gets the next ones without waiting for the
// library's slow timer.
func TestCommitNotifierContinuesAfterAFullMessage(t *testing.T) {
	const delay = 25 * time.Millisecond
	hand := clustertest.NewHandClock(1_000_000)
	notifier := newCommitNotifier(hand, delay, hclog.NewNullLogger())
	source := fixedCommit{commit: 7, term: 3, state: raft.Leader, barriers: new(int)}
	notifier.raft = source
	pipeline := notifier.pipeline("follower", &sentAppends{})
	defer pipeline.Close()
	for _, c := range []struct{ entries, barriers int }{{appendEntriesMax, 1}, {appendEntriesMax, 2}, {appendEntriesMax - 1, 2}, {0, 2}} {
		args := &raft.AppendEntriesRequest{Term: 3, PrevLogEntry: 7, PrevLogTerm: 2, LeaderCommitIndex: 7}
		for i := range c.entries {
			args.Entries = append(args.Entries, &raft.Log{Index: uint64(8 + i), Term: 3})
		}
		clustertest.Must(t, clustertest.Err(pipeline.AppendEntries(args, nil)))
		notifier.notify(delay)
		hand.Pass(delay)
		notifier.notify(delay)
		if *source.barriers != c.barriers {
			t.Errorf("after a message of %d entries the library was woken %d times, want %d", c.entries, *source.barriers, c.barriers)
		}
	}
}

func TestCommitNotifier(t *testing.T) {
	const delay = 25 * time.Millisecond
	// Entries 8 and 9 of term 3 are sent while 7 is committed.
	sent := raft.AppendEntriesRequest{
		Term: 3, PrevLogEntry: 7, PrevLogTerm: 2, LeaderCommitIndex: 7,
		Entries: []*raft.Log{{Index: 8, Term: 3}, {Index: 9, Term: 3}},
	}
	withCommit := func(commit uint64) *raft.AppendEntriesRequest {
		return &raft.AppendEntriesRequest{Term: 3, PrevLogEntry: 9, PrevLogTerm: 3, LeaderCommitIndex: commit}
	}
	cases := []struct {
		name   string
		source fixedCommit
		passed time.Duration
		want   *raft.AppendEntriesRequest
		again  bool
		// A pipeline that ends while its node leads wakes the library.
		barriers int
	}{
		{"nothing new", fixedCommit{7, 3, raft.Leader, new(int)}, delay, nil, false, 1},
		{"one committed", fixedCommit{8, 3, raft.Leader, new(int)}, delay, withCommit(8), false, 1},
		{"all committed", fixedCommit{9, 3, raft.Leader, new(int)}, delay, withCommit(9), false, 1},
		{"never beyond what was sent", fixedCommit{12, 3, raft.Leader, new(int)}, delay, withCommit(9), false, 1},
		{"entries went out a moment ago", fixedCommit{9, 3, raft.Leader, new(int)}, delay - 1, nil, true, 1},
		{"leader no more", fixedCommit{9, 3, raft.Follower, new(int)}, delay, nil, false, 0},
		{"leader of a later term", fixedCommit{9, 4, raft.Leader, new(int)}, delay, nil, false, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			hand := clustertest.NewHandClock(1_000_000)
			notifier := newCommitNotifier(hand, delay, hclog.NewNullLogger())
			notifier.raft = c.source
			network := &sentAppends{}
			pipeline := notifier.pipeline("follower", network)
			clustertest.Must(t, clustertest.Err(pipeline.AppendEntries(&sent, nil)))
			network.sent = nil
			hand.Pass(c.passed)
			if again := notifier.notify(delay); again != c.again {
				t.Errorf("again: %v", again)
			}
			var want []raft.AppendEntriesRequest
			if c.want != nil {
				want = append(want, *c.want)
			}
			if diff := cmp.Diff(want, network.sent); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
			if notifier.notify(delay); len(network.sent) > len(want) {
				t.Errorf("notified twice")
			}
			if err := pipeline.Close(); err != nil || len(notifier.pipelines) > 0 || notifier.open.Load() != 0 {
				t.Errorf("closed: %v, open %v", err, notifier.pipelines)
			}
			if *c.source.barriers != c.barriers {
				t.Errorf("the library was woken %d times, want %d", *c.source.barriers, c.barriers)
			}
		})
	}
}

// A new leader's first entries are sent before there is a pipeline, and possibly nothing follows
// their commit. A heartbeat in between changes nothing.
func TestNewPipelineTellsWhatWentBefore(t *testing.T) {
	const delay = 25 * time.Millisecond
	hand := clustertest.NewHandClock(1_000_000)
	notifier := newCommitNotifier(hand, delay, hclog.NewNullLogger())
	notifier.raft = fixedCommit{commit: 9, term: 3, state: raft.Leader, barriers: new(int)}
	notifier.confirms("follower", &raft.AppendEntriesRequest{
		Term: 3, PrevLogEntry: 7, PrevLogTerm: 2, LeaderCommitIndex: 7,
		Entries: []*raft.Log{{Index: 8, Term: 3}, {Index: 9, Term: 3}},
	})
	notifier.confirms("follower", &raft.AppendEntriesRequest{Term: 3})
	network := &sentAppends{}
	pipeline := notifier.pipeline("follower", network)
	defer pipeline.Close()
	select {
	case <-notifier.moved:
	default:
		t.Error("nobody looks at the new pipeline")
	}
	if !notifier.notify(delay) {
		t.Error("it is notified at once, although entries were sent a moment ago")
	}
	hand.Pass(delay)
	notifier.notify(delay)
	want := []raft.AppendEntriesRequest{{Term: 3, PrevLogEntry: 9, PrevLogTerm: 3, LeaderCommitIndex: 9}}
	if diff := cmp.Diff(want, network.sent); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

// A follower that hangs does not delay the commit index for the others.
func TestOtherFollowersAreNotified(t *testing.T) {
	const delay = 25 * time.Millisecond
	hand := clustertest.NewHandClock(1_000_000)
	notifier := newCommitNotifier(hand, delay, hclog.NewNullLogger())
	notifier.raft = fixedCommit{commit: 8, term: 3, state: raft.Leader, barriers: new(int)}
	hangs, sound := &slowAppends{}, &slowAppends{}
	for _, network := range []*slowAppends{hangs, sound} {
		pipeline := notifier.pipeline("follower", network)
		defer pipeline.Close()
		message := &raft.AppendEntriesRequest{Term: 3, PrevLogEntry: 7, PrevLogTerm: 2, LeaderCommitIndex: 7,
			Entries: []*raft.Log{{Index: 8, Term: 3}}}
		clustertest.Must(t, clustertest.Err(pipeline.AppendEntries(message, nil)))
	}
	hangs.waits = true
	hand.Pass(delay)
	if !notifier.notify(delay) || len(sound.sent) != 2 || len(hangs.sent) != 1 {
		t.Errorf("the one that hangs was sent %d messages, the other %d", len(hangs.sent), len(sound.sent))
	}
	hangs.waits = false
	if notifier.notify(delay) || len(hangs.sent) != 2 {
		t.Error("it is not notified when it responds again")
	}
}
