//go:build faults

package faults

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/faults/plants/failpoint"
	"github.com/seriatimq/seriatim/test/faults/plants/plant"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// playDamagedSnapshot restores a snapshot with a flipped bit, and compares the state before and
// after: a damaged snapshot must not change it.
func playDamagedSnapshot(t *testing.T, planted bool) []history.Event {
	if planted {
		plant.Set(24, func() int64 { return 0 })
		defer plant.Set(0, nil)
	}
	f := fsm.New(fsm.Options{Fatal: func(err error) { panic(err) }})
	f.Broker().Apply(1000, &queue.SetFormatVersion{Version: 1})
	if _, err := f.Broker().Apply(1000,
		&queue.CreateQueue{Queue: "q.fifo", Attributes: []queue.Attribute{{Name: "FifoQueue", Value: "true"}}}); err != nil {
		t.Fatal(err)
	}
	position, frozen := f.Freeze()
	position.StateHash, position.At = frozen.StateHash(), f.Broker().Now()
	var content bytes.Buffer
	if err := snapshot.Write(&content, position, frozen); err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(content.Bytes())
	damaged[len(damaged)/2] ^= 4
	look := func() history.Event {
		return history.Event{Kind: history.KindStatus, Node: "n1", Detail: history.Detail{Status: &history.Status{
			Role: "follower", Applied: 7, Hash: fmt.Sprint(f.Broker().StateHash()),
		}}}
	}
	events := []history.Event{{Kind: history.KindRun, Detail: history.Detail{Rules: &history.Rules{Quick: true}}}, look()}
	func() {
		defer func() { _ = recover() }()                      // a server would end here
		_ = f.Restore(io.NopCloser(bytes.NewReader(damaged))) // the result does not matter, only the state
	}()
	return append(events, look())
}

// TestPlaces compares the list of failpoints with the places that hit them. Two places choose the
// name at run time.
func TestPlaces(t *testing.T) {
	want := append(placesInEdits(t), "append-entries-answer", "install-snapshot-answer")
	slices.Sort(want)
	got := slices.Sorted(slices.Values(failpoint.Places))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the places in the sources (-) are not those of the list (+):\n%s", diff)
	}
	var injected []string
	for _, x := range places {
		injected = append(injected, x.name)
	}
	slices.Sort(injected)
	if diff := cmp.Diff(got, injected); diff != "" {
		t.Errorf("the places of the list (-) are not those of the schedule (+):\n%s", diff)
	}
	for _, at := range placeErrors {
		if !slices.Contains(got, at) {
			t.Errorf("there is no place %s", at)
		}
	}
}
