package consensus

import (
	"context"
	crypto "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/queue"
)

// narrowNetwork is the machine's network with connections that accept narrowBytes at once.
type narrowNetwork struct{ environment.Network }

const narrowBytes = 16 << 10

// Dial opens such a connection. The dialing end sends entries.
func (n narrowNetwork) Dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := n.Network.Dial(ctx, address)
	if err == nil {
		err = conn.(*net.TCPConn).SetWriteBuffer(narrowBytes / 2) // the system doubles it
	}
	return conn, err
}

// load proposes entries of all sizes, some at a time, through the current leader.
type load struct {
	groups *groups
	more   wakeup.Signal // an entry was confirmed

	mu        sync.Mutex
	at        int // of the last entry
	confirmed []string
}

// entry returns an entry of the size, which leaves a queue in the state.
func (l *load) entry(size int) (name string, entry []byte) {
	l.at++
	name = fmt.Sprint("load", l.at)
	return name, clustertest.EntryOf(l.groups.T, 2000+l.at, &queue.CreateQueue{Queue: name},
		&queue.SendMessages{Queue: "none", Entries: []queue.SendEntry{{Body: strings.Repeat("x", size)}}})
}

// run proposes until ctx ends. Entries with an unknown outcome may be committed or not.
func (l *load) run(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		var leader *member
		for _, m := range l.groups.All {
			if _, leads := m.group.LeaderTerm(); leads {
				leader = m
			}
		}
		if leader == nil {
			wakeup.Sleep(ctx, retryPauseMin)
			continue
		}
		l.mu.Lock()
		name, entry := l.entry(1 << random.IntN(18)) // another goroutine sends 64 KiB and more
		wait, err := leader.group.Propose(entry)
		l.mu.Unlock()
		if err == nil {
			_, err = wait()
		}
		switch {
		case err == nil:
			l.mu.Lock()
			l.confirmed = append(l.confirmed, name)
			l.mu.Unlock()
			l.more.Notify()
		case !errors.Is(err, fault.ErrNotLeader) && !errors.Is(err, fault.ErrOutcomeUnknown):
			l.groups.T.Errorf("an entry of the load: %v", err)
			return
		}
	}
}

// await waits until n more entries are confirmed.
func (l *load) await(n int) {
	l.groups.T.Helper()
	ctx, target := clustertest.Context(l.groups.T), 0
	for first := true; ; first = false {
		l.mu.Lock()
		now := len(l.confirmed)
		l.mu.Unlock()
		if first {
			target = now + n
		}
		if now >= target {
			return
		}
		select {
		case <-l.more:
		case <-ctx.Done():
			l.groups.T.Fatalf("%d of %d entries are confirmed", now, target)
		}
	}
}

// Entries are sent early over connections that accept them completely, partly, or not at all, while
// connections break and leaders change. Confirmed entries remain, and all members end with the same
// log.
func TestEarlyAppendOverEveryKindOfConnection(t *testing.T) {
	for _, kind := range []struct {
		name        string
		tls, narrow bool
	}{{"clear text", false, false}, {"TLS", true, false}, {"full", false, true}, {"TLS, full", true, true}} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			clustertest.VerifyNoLeaks(t)
			authority := clustertest.NewAuthority(t, crypto.Reader)
			g := newEarlyGroup(t, func(n *node) {
				if kind.narrow {
					n.outside = narrowNetwork{environment.NewMachineNetwork("127.0.0.1:0", clustertest.Patience)}
				}
				if kind.tls {
					server, client := authority.Node(t)
					n.secure = &peernet.TLS{Server: server, Client: client}
				}
			})
			l := &load{groups: g, more: wakeup.NewSignal()}
			// The entry is larger than a narrow connection accepts.
			_, entry := l.entry(inlineMax - narrowBytes)
			a := proposeEarly(g, entry, 0)
			a.leader.node.disk.release(false)
			_, _ = a.wait() // an error if the leader was outvoted meanwhile
			underLoad(t, g, l)
		})
	}
}

func underLoad(t *testing.T, g *groups, l *load) {
	t.Helper()
	loading, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer end()
	for i := range 4 {
		running.Go(func() { l.run(loading, rand.New(rand.NewPCG(1, uint64(i)))) }) //nolint:gosec // any numbers do
	}
	for _, disturb := range []func(leader *member, followers []*member){
		func(*member, []*member) {},
		func(leader *member, _ []*member) { leader.node.network.Disconnect() },
		func(_ *member, followers []*member) { followers[0].node.network.Disconnect() },
		func(_ *member, followers []*member) { _ = followers[0].group.Campaign() }, // it may lose the election
		func(leader *member, _ []*member) { leader.node.network.Disconnect() },
	} {
		l.await(20)
		leader := g.Leader()
		disturb(leader, g.Followers(leader))
	}
	l.await(20)
	end()
	running.Wait()
	g.Agree(g.Propose(10_000, 10_001))
	for _, m := range g.All {
		for _, name := range l.confirmed {
			exists := false
			m.machine.Read(func(v queue.View) { exists = v.QueueExists(name) })
			if !exists {
				t.Errorf("%s does not have %s, which was confirmed", m.Name(), name)
			}
		}
	}
}
