package bodies

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue/message"
)

// withBacklog stores bodies, most of them in files only, with windows of 8 KiB.
func withBacklog(t *testing.T, count, size int) (*node, []message.Body) {
	n := newNode(t)
	n.store.Close()
	n.options.CacheBytes = windowsMax * 8 << 10
	n.open()
	sent := make([]message.Body, count)
	for i := range sent {
		sent[i] = n.send(i, size)
	}
	n.snapshot()
	return n, sent
}

// Several readers drain interleaved backlogs that span segments. A position that no reader
// continues from is read alone.
func TestABacklogIsPrefetched(t *testing.T) {
	const count, size = 1000, 200
	n, sent := withBacklog(t, count, size)
	const readers = 4
	for i := range readers {
		n.reads(i*3, sent[i*3]) // a reader begins: nothing is prefetched yet
	}
	if n.store.prefetch.filled > readers {
		t.Errorf("%d windows were read for bodies that no call asked for", n.store.prefetch.filled)
	}
	var reading sync.WaitGroup
	for r := range readers {
		reading.Go(func() {
			for i := r; i < count; i += readers {
				if got, err := n.store.Read(sent[i]); err != nil || got.String() != text(i, size) {
					t.Errorf("body %d: %v", i, err)
				}
			}
		})
	}
	reading.Wait()
	if total := count * (size + recordHeadBytes); n.store.prefetch.filled < total/(8<<10)/2 ||
		n.store.prefetch.filled > readers*3*total/(8<<10) {
		t.Errorf("%d windows were read for %d bytes", n.store.prefetch.filled, total)
	}
}

func TestBodiesAtRandomAreReadAlone(t *testing.T) {
	const count, size = 4000, 200
	n, sent := withBacklog(t, count, size)
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		i := random.IntN(count)
		n.reads(i, sent[i])
	}
	if n.store.prefetch.filled > 300 { // some random reads follow one of the last
		t.Errorf("%d windows were read for 500 bodies", n.store.prefetch.filled)
	}
	if used := len(n.store.prefetch.windows); used > windowsMax {
		t.Errorf("there are %d windows", used)
	}
}

// A window that is older than the file does not indicate damage: neither a healed body counts as
// damaged, nor a damaged one as healed.
func TestWindowsAreOlderThanFiles(t *testing.T) {
	n, sent := withBacklog(t, 300, 1000)
	n.store.HealWith(func() {})
	n.harm(sent[3])
	for i := range 3 {
		n.reads(i, sent[i])
	}
	if n.store.prefetch.filled == 0 || !n.store.prefetch.windows[len(n.store.prefetch.windows)-1].has(sent[3]) {
		t.Fatal("the damaged body is in no window: nothing was tested")
	}
	n.beingHealed(sent[3])
	clustertest.Must(t, n.store.Heal(sent[3], text(3, 1000)))
	n.reads(3, sent[3])
	n.reads(4, sent[4])
	n.harm(sent[5])
	n.reads(5, sent[5]) // prefetched before
	if _, sound := n.store.Sound(sent[5]); sound {
		t.Error("another node would be given it as sound")
	}
}
