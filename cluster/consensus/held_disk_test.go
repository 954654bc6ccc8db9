package consensus

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/fsm"
)

// heldDisk is a disk on which appending to the log may take as long as a test wants,
// and may never happen, as when the power goes. Safe for concurrent use.
type heldDisk struct {
	arrived wakeup.Signal // something waits to be appended

	mu        sync.Mutex
	held      chan struct{} // not nil while it holds; closed at its end
	powerless bool          // what is held, and all after it, is lost
}

func newHeldDisk() *heldDisk { return &heldDisk{arrived: wakeup.NewSignal()} }

var errPowerless = errors.New("the power is gone")

func (d *heldDisk) through(what string, write func() error) error {
	d.mu.Lock()
	held := d.held
	d.mu.Unlock()
	if held != nil && strings.HasPrefix(what, "append to the log") {
		d.arrived.Notify()
		<-held
	}
	// The library panics if it cannot write the term, which may be of a message that came
	// before the network went. The power goes right behind it then.
	if d.lost() && !strings.HasPrefix(what, "write term or vote") {
		return errPowerless
	}
	return write()
}

func (d *heldDisk) lost() bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.powerless
}

func (d *heldDisk) hold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = make(chan struct{})
}

// release ends the hold: what is held is written, or lost with the power.
func (d *heldDisk) release(powerless bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held != nil {
		close(d.held)
	}
	d.held, d.powerless = nil, powerless
}

// cutPower ends a node whose disk is held, and forgets what is held.
func (n *node) cutPower() {
	n.network.Disconnect()
	n.disk.release(true)
	n.stop()
	n.disk.release(false)
}

// newEarlyGroup is a group of three that works, with disks that can be held.
func newEarlyGroup(t *testing.T, prepare func(n *node)) *groups {
	t.Helper()
	nodes := newNodes(t, 3)
	for _, n := range nodes {
		n.disk = newHeldDisk()
		if prepare != nil {
			prepare(n)
		}
	}
	g := newGroup(t, 0, nodes, nil)
	g.startAll()
	g.Agree(g.Propose(0, 20))
	return g
}

// awaitPipelines waits until all followers keep up with a leader.
func awaitPipelines(g *groups, leader *member) {
	g.T.Helper()
	for ctx := clustertest.Context(g.T); leader.group.notifier.openPipelines() < len(g.All)-1; { // they catch up first
		g.Propose(20, 21)
		if ctx.Err() != nil {
			g.T.Fatal("no pipelines are opened")
		}
	}
	g.Agree(g.Propose(20, 21)) // what follows goes to all of them
}

// proposeHeld proposes an entry to a leader whose disk is held, and returns it when it
// waits for the disk.
func proposeHeld(t *testing.T, leader *member) (wait func() (fsm.EntryResult, error)) {
	t.Helper()
	wait, err := leader.group.Propose(clustertest.Entry(t, 1000))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-leader.node.disk.arrived:
	case <-clustertest.Context(t).Done():
		t.Fatal("nothing is written")
	}
	return wait
}

// ahead is an entry that followers have confirmed while the disk of the leader is held.
type ahead struct {
	leader    *member
	followers []*member
	held      []*member // of the followers, those whose disks are held as well
	index     uint64
	wait      func() (fsm.EntryResult, error)
	pipelines map[*notifyingPipeline]struct{}
}

// proposeEarly proposes an entry and returns when all followers have confirmed it but the
// last ones, whose disks are held. A leader need not send ahead, and does not where it
// would have to wait, so that it takes several tries on a machine that is busy.
func proposeEarly(g *groups, entry []byte, held int) ahead {
	g.T.Helper()
	for range triesMax {
		leader := g.Leader()
		awaitPipelines(g, leader)
		followers := g.Followers(leader)
		free := len(followers) - held
		a := ahead{leader: leader, followers: followers, held: followers[free:], index: leader.group.raft.LastIndex() + 1}
		disks := append(slices.Clone(a.held), leader)
		for _, m := range disks {
			m.node.disk.hold()
		}
		var err error
		if a.wait, err = leader.group.Propose(entry); err == nil {
			ctx, cancel := context.WithTimeout(clustertest.Context(g.T), earlyTimeout)
			reached := false
			a.pipelines, reached = haveEarly(ctx, leader, free)
			cancel()
			if reached {
				return a
			}
		}
		for _, m := range disks {
			m.node.disk.release(false)
		}
		if err == nil {
			_, err = a.wait()
		}
		g.T.Logf("entry %d of %s was not sent ahead: %v", a.index, leader.Name(), err)
	}
	g.T.Fatal("the followers never have what the leader writes")
	return ahead{}
}

const (
	triesMax     = 10
	earlyTimeout = 3 * time.Second // of one try
)

// haveEarly waits until so many followers have answered what they were sent ahead, or ctx
// ends.
func haveEarly(ctx context.Context, leader *member, followers int) (pipelines map[*notifyingPipeline]struct{}, reached bool) {
	notifier := leader.group.notifier
	for ctx.Err() == nil {
		notifier.mu.Lock()
		pipelines = maps.Clone(notifier.pipelines)
		notifier.mu.Unlock()
		answered := 0
		for p := range pipelines {
			p.lock <- struct{}{}
			for _, message := range p.ahead {
				select {
				case <-message.done:
					if message.resp.Success {
						answered++
					}
				default:
				}
			}
			p.unlock()
		}
		if answered == followers {
			return pipelines, true
		}
		wakeup.Sleep(ctx, retryPauseMin)
	}
	return nil, false
}
