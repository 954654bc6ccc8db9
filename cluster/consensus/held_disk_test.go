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

// heldDisk is a disk on which a test can delay appends to the log, or lose them as in a power cut.
// Safe for concurrent use.
type heldDisk struct {
	arrived wakeup.Signal // an append waits

	mu        sync.Mutex
	held      chan struct{} // not nil while appends are held; closed at the end
	powerless bool          // held and later appends are lost
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
	// Writes of term and vote succeed, because the library panics if they fail: a message from before
	// the power cut may still cause one.
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

// newEarlyGroup returns a running group of three with disks that can be held.
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

// awaitPipelines waits until the leader has a pipeline to each follower.
func awaitPipelines(g *groups, leader *member) {
	g.T.Helper()
	for ctx := clustertest.Context(g.T); int(leader.group.watches.notifier.open.Load()) < len(g.All)-1; { // they first catch up
		g.Propose(20, 21)
		if ctx.Err() != nil {
			g.T.Fatal("no pipelines are opened")
		}
	}
	g.Agree(g.Propose(20, 21)) // later entries reach all of them
}

// proposeHeld proposes an entry to a leader with a held disk, and returns when it waits for the
// disk.
func proposeHeld(t *testing.T, leader *member) (wait func() (fsm.EntryResult, error)) {
	t.Helper()
	wait, err := leader.group.Propose(clustertest.Entry(t, 1000))
	clustertest.Must(t, err)
	select {
	case <-leader.node.disk.arrived:
	case <-clustertest.Context(t).Done():
		t.Fatal("nothing is written")
	}
	return wait
}

// earlyEntry is an entry that followers have confirmed while the leader's disk is held.
type earlyEntry struct {
	leader    *member
	followers []*member
	held      []*member // followers whose disks are held as well
	index     uint64
	wait      func() (fsm.EntryResult, error)
	pipelines map[*notifyingPipeline]struct{}
}

// proposeEarly proposes an entry and returns when all followers confirmed it, except the last ones,
// whose disks are held. A leader that would have to wait does not send early, so a busy machine may
// need several attempts.
func proposeEarly(g *groups, entry []byte, held int) earlyEntry {
	g.T.Helper()
	for range triesMax {
		leader := g.Leader()
		awaitPipelines(g, leader)
		followers := g.Followers(leader)
		free := len(followers) - held
		a := earlyEntry{leader: leader, followers: followers, held: followers[free:], index: leader.group.raft.LastIndex() + 1}
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
		g.T.Logf("entry %d of %s was not sent early: %v", a.index, leader.Name(), err)
	}
	g.T.Fatal("the followers never have what the leader writes")
	return earlyEntry{}
}

const (
	triesMax     = 10
	earlyTimeout = 3 * time.Second // for one attempt
)

// haveEarly waits until a number of followers answered early messages, or ctx ends.
func haveEarly(ctx context.Context, leader *member, followers int) (pipelines map[*notifyingPipeline]struct{}, reached bool) {
	notifier := leader.group.watches.notifier
	for ctx.Err() == nil {
		notifier.mu.Lock()
		pipelines = maps.Clone(notifier.pipelines)
		notifier.mu.Unlock()
		answered := 0
		for p := range pipelines {
			p.lock <- struct{}{}
			for _, message := range p.early {
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
