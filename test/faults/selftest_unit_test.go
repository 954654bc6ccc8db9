//go:build faults

package faults

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/fsm/failpoint"
	"github.com/seriatimq/seriatim/fsm/plant"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle/check"
)

// swapEarly restores a damaged snapshot and wants the state that was there.
func swapEarly(t *testing.T) []check.Violation {
	plant.Set(24, func() queue.Timestamp { return 0 })
	defer plant.Set(0, nil)
	return restoreDamaged(t)
}

// restoreDamaged is I17 for a state machine: what is damaged is not used.
func restoreDamaged(t *testing.T) []check.Violation {
	var fatal error
	f := fsm.New(fsm.Options{Fatal: func(err error) {
		fatal = err
		panic(err)
	}})
	f.Broker().Apply(1000, &queue.SetFormatVersion{Version: 1})
	if _, err := f.Broker().Apply(1000, &queue.CreateQueue{Queue: "q.fifo", Attributes: []queue.Attribute{{Name: "FifoQueue", Value: "true"}}}); err != nil {
		t.Fatal(err)
	}
	position, frozen := f.Freeze()
	position.StateHash, position.At = frozen.StateHash(), f.Broker().Now()
	var content bytes.Buffer
	if err := fsm.WriteSnapshot(&content, position, frozen); err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(content.Bytes())
	damaged[len(damaged)/2] ^= 4
	before := f.Broker().StateHash()
	func() {
		defer func() { _ = recover() }()
		if err := f.Restore(io.NopCloser(bytes.NewReader(damaged))); err != nil {
			fatal = errors.Join(fatal, err)
		}
	}()
	if fatal == nil {
		return []check.Violation{{Invariant: "I17", Text: "a damaged snapshot was restored"}}
	}
	if f.Broker().StateHash() != before {
		return []check.Violation{{Invariant: "I17", Text: "a damaged snapshot was refused, but the state before it is gone"}}
	}
	return nil
}

// TestPlaces compares the list of failpoints with where they are hit; two are hit
// by a name that is chosen at the place.
func TestPlaces(t *testing.T) {
	want := append(placesInSources(t), "append-entries-answer", "install-snapshot-answer")
	slices.Sort(want)
	got := slices.Sorted(slices.Values(failpoint.Places))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the places in the sources (-) are not those of the list (+):\n%s", diff)
	}
	var struck []string
	for _, x := range places {
		struck = append(struck, x.name)
	}
	slices.Sort(struck)
	if diff := cmp.Diff(got, struck); diff != "" {
		t.Errorf("the places of the list (-) are not those of the schedule (+):\n%s", diff)
	}
	for _, at := range placeErrors {
		if !slices.Contains(got, at) {
			t.Errorf("there is no place %s", at)
		}
	}
}

// TestDamagedSnapshotIsNotUsed is the control of planted bug 24.
func TestDamagedSnapshotIsNotUsed(t *testing.T) {
	for _, v := range restoreDamaged(t) {
		t.Error(v.Text)
	}
}
