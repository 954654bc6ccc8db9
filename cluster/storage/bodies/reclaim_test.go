package bodies

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue/message"
)

// Reclaimed space counts once: as a hole, as a hole that a restart finds, or with its file.
func TestFreedBytesAreCountedOnce(t *testing.T) {
	if !canPunch {
		t.Skip("files here have no holes")
	}
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		var kept, deleted []message.Body
		for i := range 400 {
			if body := n.send(i, 1000); i%40 == 0 {
				kept = append(kept, body)
			} else {
				deleted = append(deleted, body)
			}
		}
		n.send(400, 70<<10) // ends the segment
		n.snapshot()
		full, files := n.allocated()
		differ := func(a, b int64) bool { // by more than the metadata of the holes
			return max(a-b, b-a) > int64(files)*blockBytes
		}
		for _, body := range deleted {
			n.state.Free(body)
		}
		n.snapshot()
		synctest.Wait()
		left, _ := n.allocated()
		if left > full/2 {
			t.Skip("this file system makes no holes")
		}
		if freed := n.store.Stats().FreedBytes; differ(freed, full-left) {
			t.Errorf("%d bytes were counted, %d given back", freed, full-left)
		}
		if err := n.restart(kept...); err != nil { // without the last one
			t.Fatal(err)
		}
		synctest.Wait()
		for _, body := range kept {
			n.state.Free(body)
		}
		n.snapshot()
		synctest.Wait()
		if bytes, files := n.allocated(); files > 0 || differ(n.store.Stats().FreedBytes, left) {
			t.Errorf("%d bytes were counted, %d given back; %d bytes in %d files are left", n.store.Stats().FreedBytes, left, bytes, files)
		}
	})
}

// Space is reclaimed at the configured rate, neither faster nor slower.
func TestSpaceComesBackAtItsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.options.FreeBytesPerSecond = 1 << 20
		clustertest.Must(t, n.restart())
		const size = 70 << 10 // of a body that fills a segment
		var sent []message.Body
		for i := range 200 {
			sent = append(sent, n.send(i, size))
		}
		n.snapshot()
		for _, body := range sent {
			n.state.Free(body)
		}
		n.send(200, size)
		n.snapshot()
		most := int64(0) // reclaimed between two samples
		for began, before := time.Now(), int64(0); ; time.Sleep(time.Second) {
			synctest.Wait()
			freed, due := n.store.Stats().FreedBytes, int64(time.Since(began).Seconds())<<20
			most, before = max(most, freed-before), freed
			if freed > due+pauseBytes+2*size {
				t.Fatalf("after %v %d bytes were given back", time.Since(began), freed)
			}
			if _, files := n.allocated(); files == 1 {
				break
			}
			if freed < due-pauseBytes {
				t.Fatalf("after %v no more than %d bytes were given back", time.Since(began), freed)
			}
		}
		if most < pauseBytes {
			t.Errorf("%d bytes were given back at once, of %d: nothing was tested", most, n.store.Stats().FreedBytes)
		}
	})
}
