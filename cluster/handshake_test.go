package cluster

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/storage"
)

func TestFormatRanges(t *testing.T) {
	cases := []struct {
		name        string
		own, other  formatRange
		overlaps    bool
		ownIsTooOld bool
		otherIsText string
		otherTooOld bool
	}{
		{"the same", formatRange{1, 1}, formatRange{1, 1}, true, false, "format version 1", false},
		{"a newer program before finalize", formatRange{1, 1}, formatRange{1, 2}, true, false, "format versions 1 to 2", false},
		{"after finalize", formatRange{1, 1}, formatRange{2, 2}, false, true, "format version 2", false},
		{"after finalize, the other way round", formatRange{2, 3}, formatRange{1, 1}, false, false, "format version 1", true},
		{"one that does not say", formatRange{2, 2}, formatRange{}, true, false, "unknown formats", false},
	}
	for _, test := range cases {
		if got := test.own.overlaps(test.other); got != test.overlaps || test.other.overlaps(test.own) != got {
			t.Errorf("%s: overlaps is %v", test.name, got)
		}
		if test.own.outdated(test.other) != test.ownIsTooOld || test.other.outdated(test.own) != test.otherTooOld {
			t.Errorf("%s: it is said that the wrong one is too old", test.name)
		}
		if got := test.other.String(); got != test.otherIsText {
			t.Errorf("%s: %q", test.name, got)
		}
	}
	if got := newFormatRange(1, 1000); got != (formatRange{1, 255}) {
		t.Errorf("got %v", got)
	}
}

// peersWithFormats is a node that has these formats and counts how often it was
// found too old.
func peersWithFormats(t *testing.T, nodeID, clusterID string, formats formatRange) (*peers, *atomic.Int32) {
	t.Helper()
	logger := testLogger(t, 0)
	outdated := new(atomic.Int32)
	p, err := listenPeers(context.Background(), peersConfig{
		nodeID: nodeID, clusterID: func() string { return clusterID }, bind: "127.0.0.1:0", timeout: 10 * time.Second, logger: logger,
		formats: func() formatRange { return formats }, outdated: func(error) { outdated.Add(1) },
	}, openAddressBook(filepath.Join(t.TempDir(), storage.AddressesName), logger))
	if err != nil {
		t.Fatal(err)
	}
	p.serve()
	p.open()
	t.Cleanup(func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})
	return p, outdated
}

// Two nodes tell each other what they can read; two without a common format refuse
// each other, whoever dials, and the one whose program is too old is told.
func TestPeersCompareFormats(t *testing.T) {
	ctx := testContext(t)
	newer, newerOutdated := peersWithFormats(t, "a-1", "c", formatRange{2, 3})
	older, olderOutdated := peersWithFormats(t, "b-2", "c", formatRange{1, 1})
	able, _ := peersWithFormats(t, "c-3", "c", formatRange{1, 2})
	for _, p := range []*peers{newer, older, able} {
		p.book.note("a-1", newer.boundAddr(), 1)
		p.book.note("b-2", older.boundAddr(), 1)
		p.book.note("c-3", able.boundAddr(), 1)
	}
	for _, dial := range []struct {
		from *peers
		to   string
	}{{newer, "b-2"}, {older, "a-1"}} {
		before := olderOutdated.Load()
		_, err := dial.from.dialKind(ctx, dial.to, connRaft)
		if !errors.Is(err, errRefused) || !errors.Is(err, errFormats) || !strings.Contains(err.Error(), "has format") {
			t.Errorf("to %s: %v", dial.to, err)
		}
		deadline := time.Now().Add(testPatience)
		for olderOutdated.Load() == before {
			if time.Now().After(deadline) {
				t.Fatalf("dialing %s: the older node was not told", dial.to)
			}
			time.Sleep(time.Millisecond)
		}
	}
	if newerOutdated.Load() != 0 {
		t.Error("the newer node was told that it is too old")
	}
	conn, err := able.dialKind(ctx, "a-1", connRaft)
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := newer.incoming[connRaft].Accept()
	if err != nil {
		t.Fatal(err)
	}
	if a, b := able.formatMaxOf("a-1"), newer.formatMaxOf("c-3"); a != 3 || b != 2 {
		t.Errorf("the two have heard %d and %d", a, b)
	}
	if got := newer.formatMaxOf("b-2"); got != 0 {
		t.Errorf("a refused node has said %d", got)
	}
	conn.Close()
	accepted.Close()
	if got := able.formatMaxOf("a-1"); got != 0 {
		t.Errorf("%d is remembered after the connection", got)
	}
}
