package bodies

import (
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue/message"
)

// takeIn appends the bodies of a snapshot from another node.
func (n *node) takeIn(i *Intake, from, to, size int) (taken []message.Body) {
	for seed := from; seed < to; seed++ {
		taken = append(taken, i.Append(text(seed, size), uint64(seed)))
	}
	return taken
}

// present restores a state with these bodies and makes it the current one.
func (n *node) present(has ...message.Body) error {
	state := n.store.Begin()
	for _, body := range has {
		state.Hold(body)
	}
	if err := state.Adopt(); err != nil {
		return err
	}
	n.state = state
	return nil
}

// segments waits until a number of segments remains.
func (n *node) segments(want int) {
	n.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		sizes, err := listSegments(n.options.Dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // one was removed meanwhile
			n.t.Fatal(err)
		}
		if len(sizes) == want {
			return
		}
		if time.Now().After(deadline) {
			n.t.Fatalf("%d segments are left, want %d", len(sizes), want)
		}
		time.Sleep(time.Millisecond)
	}
}

// A snapshot refers to bodies that were taken in and to earlier ones. All of them remain, even
// those that the current state frees before the snapshot replaces it. All others are removed.
func TestBodiesAreTakenIn(t *testing.T) {
	n := newNode(t)
	const size = 30_000 // two per segment
	had := []message.Body{n.send(0, size), n.send(1, size), n.send(2, size), n.send(3, size)}
	n.snapshot()
	intake := n.store.BeginIntake()
	taken := n.takeIn(intake, 10, 14, size)
	n.state.Free(had[0])
	n.state.Free(had[1])
	n.snapshot()
	n.send(4, size)
	n.snapshot()
	clustertest.Must(t, intake.Sync())
	for i, body := range append(taken, had[:2]...) {
		n.reads([]int{10, 11, 12, 13, 0, 1}[i], body)
	}
	clustertest.Must(t, n.present(append(taken, had[:2]...)...))
	intake.End(true)
	n.send(5, size) // in the last segment
	n.snapshot()
	n.segments(4) // those of had and taken, and the last
	clustertest.Must(t, n.restart(append(taken, had[:2]...)...))
	for i, body := range append(taken, had[:2]...) {
		n.reads([]int{10, 11, 12, 13, 0, 1}[i], body)
	}
}

// Unused bodies of an Intake are reclaimed after the next snapshot if one on disk may refer to
// them, and otherwise at once. Nothing else is reclaimed.
func TestBodiesThatWereTakenInForNothing(t *testing.T) {
	for name, test := range map[string]struct {
		referred bool
		left     int // segments before the next snapshot
	}{
		"a snapshot may refer to them": {true, 7},
		"no snapshot refers to them":   {false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			const size = 30_000
			had := []message.Body{n.send(0, size), n.send(1, size)}
			n.snapshot()
			n.state.Free(had[0])
			n.state.Free(had[1]) // the snapshot on disk has them
			intake := n.store.BeginIntake()
			n.takeIn(intake, 10, 20, size)
			own := n.send(2, size)
			clustertest.Must(t, intake.Sync())
			intake.End(test.referred)
			n.segments(test.left)
			for _, seed := range []int{0, 1} {
				n.reads(seed, had[seed])
			}
			n.snapshot()
			n.segments(1)
			n.reads(2, own)
		})
	}
}

// A node that repeatedly fails to install a snapshot uses no more space for it, although it writes
// no snapshot of its own.
func TestIntakesInVainTakeNoSpace(t *testing.T) {
	n := newNode(t)
	own := n.send(0, 1000)
	for range 4 {
		intake := n.store.BeginIntake()
		n.takeIn(intake, 10, 31, 30_000)
		clustertest.Must(t, intake.Sync())
		intake.End(false)
	}
	n.segments(1)
	n.reads(0, own)
}

// A node without a snapshot refers to no body of earlier runs.
func TestBodiesOfEarlierRunsWithoutASnapshot(t *testing.T) {
	n := newNode(t)
	for range 4 {
		intake := n.store.BeginIntake()
		n.takeIn(intake, 10, 31, 30_000)
		clustertest.Must(t, intake.Sync())
		n.store.Close()
		n.open()
	}
	own := n.send(0, 1000)
	n.store.RestoredNothing()
	n.snapshot()
	n.segments(1)
	n.reads(0, own)
}

// A state that is restored at the start may refer to bodies of earlier runs only.
func TestBodiesOfThisRunAreNotThereAtTheStart(t *testing.T) {
	n := newNode(t)
	body := n.send(0, 1000)
	n.snapshot()
	clustertest.Must(t, os.Remove(n.store.path(body.Place().Segment)))
	if err := n.restart(body); err == nil {
		t.Error("a body without its file was taken for one of this run")
	}
}
