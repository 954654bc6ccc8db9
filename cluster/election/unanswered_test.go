package election

import (
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// A leader behind a slow link has recent contact with every follower and answers none. It is
// replaced after a heartbeat timeout.
func TestLeaderThatAnswersNothingIsReplaced(t *testing.T) {
	const gone = "gone-4"
	clock := clustertest.NewHandClock(0)
	node := &testNode{id: "a-1", leader: gone, silent: 1, clock: clock}
	other := &testNode{id: "b-2", leader: gone, silent: 1, clock: clock}
	openAll(t, []string{"a-1", "b-2", gone}, node, other)
	ctx := clustertest.Context(t)
	for range unansweredMin {
		for _, n := range []*testNode{node, other} {
			if state := n.checkLeader(ctx); state != leaderUnclear {
				t.Fatalf("after %v the leader is in state %v at %s", clock.Monotonic(), state, n.id)
			}
		}
		clock.Pass(2 * testSilence / unansweredMin)
	}
	if len(node.campaigns)+len(other.campaigns) != 0 {
		t.Fatal("a node campaigned too early")
	}
	if state := node.checkLeader(ctx); state != leaderMissing {
		t.Fatalf("after a heartbeat timeout the leader is in state %v", state)
	}
	if len(node.campaigns) != 1 {
		t.Errorf("%d campaigns, want 1", len(node.campaigns))
	}
}

func TestUnanswered(t *testing.T) {
	leader, next := Leadership{Term: 5, LeaderID: "a"}, Leadership{Term: 6, LeaderID: "a"}
	for _, c := range []struct {
		name    string
		between func(*unanswered) // after two questions at 0 and 1 s
		leader  Leadership
		asked   time.Duration
		count   int
		lasting time.Duration
	}{
		{"in a row", func(*unanswered) {}, leader, 2 * time.Second, 3, 2 * time.Second},
		{"one answer may be luck", func(u *unanswered) { u.answered() }, leader, 2 * time.Second, 3, 2 * time.Second},
		{"two answers are not", func(u *unanswered) { u.answered(); u.answered() }, leader, 2 * time.Second, 1, 0},
		{"answers with a question between", func(u *unanswered) {
			u.answered()
			u.another(leader, 1500*time.Millisecond, 1500*time.Millisecond)
			u.answered()
		}, leader, 2 * time.Second, 4, 2 * time.Second},
		{"another term", func(*unanswered) {}, next, 2 * time.Second, 1, 0},
		{"after a pause", func(*unanswered) {}, leader, 5 * time.Second, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := unanswered{pause: 3 * time.Second}
			for _, at := range []time.Duration{0, time.Second} {
				u.another(leader, at, at)
			}
			c.between(&u)
			if count, lasting := u.another(c.leader, c.asked, c.asked); count != c.count || lasting != c.lasting {
				t.Errorf("%d questions for %v, want %d for %v", count, lasting, c.count, c.lasting)
			}
		})
	}
}
