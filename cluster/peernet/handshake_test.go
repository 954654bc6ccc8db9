package peernet

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

func TestFormatRanges(t *testing.T) {
	cases := []struct {
		name        string
		own, other  FormatRange
		overlaps    bool
		ownIsTooOld bool
		otherIsText string
		otherTooOld bool
	}{
		{"the same", FormatRange{1, 1}, FormatRange{1, 1}, true, false, "format version 1", false},
		{"a newer program before finalize", FormatRange{1, 1}, FormatRange{1, 2}, true, false, "format versions 1 to 2", false},
		{"after finalize", FormatRange{1, 1}, FormatRange{2, 2}, false, true, "format version 2", false},
		{"after finalize, the other way round", FormatRange{2, 3}, FormatRange{1, 1}, false, false, "format version 1", true},
		{"one that does not say", FormatRange{2, 2}, FormatRange{}, true, false, "unknown formats", false},
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
	if got := NewFormatRange(1, 1000); got != (FormatRange{1, 255}) {
		t.Errorf("got %v", got)
	}
}

// peersWithFormats returns a node with these formats. The channel receives an error each time that
// the node is too old.
func peersWithFormats(t *testing.T, nodeID, clusterID string, formats FormatRange) (*Network, <-chan error) {
	t.Helper()
	outdated := make(chan error, 8) // more than there are dials in a test
	p := newTestNetwork(t, nodeID, clusterID, func(o *Options) {
		o.Formats, o.Outdated = func() FormatRange { return formats }, func(err error) { outdated <- err }
	})
	return p, outdated
}

// Two nodes exchange their formats in the handshake. Without a common format they refuse each other
// in both directions, and the outdated one reports it.
func TestPeersCompareFormats(t *testing.T) {
	ctx := clustertest.Context(t)
	newer, newerOutdated := peersWithFormats(t, "a-1", "c", FormatRange{2, 3})
	older, olderOutdated := peersWithFormats(t, "b-2", "c", FormatRange{1, 1})
	able, _ := peersWithFormats(t, "c-3", "c", FormatRange{1, 2})
	for _, p := range []*Network{newer, older, able} {
		p.book.Note("a-1", newer.BoundAddr(), 1)
		p.book.Note("b-2", older.BoundAddr(), 1)
		p.book.Note("c-3", able.BoundAddr(), 1)
	}
	for _, dial := range []struct {
		from *Network
		to   string
	}{{newer, "b-2"}, {older, "a-1"}} {
		_, err := dial.from.Dial(ctx, dial.to, KindConsensus, 0)
		if !errors.Is(err, ErrRefused) || !errors.Is(err, ErrFormats) || !strings.Contains(err.Error(), "has format") {
			t.Errorf("to %s: %v", dial.to, err)
		}
		select {
		case err := <-olderOutdated:
			if !strings.Contains(err.Error(), "an upgrade was finalized") {
				t.Errorf("dialing %s: the older node reports %v", dial.to, err)
			}
		case <-ctx.Done():
			t.Fatalf("dialing %s: the older node reports nothing", dial.to)
		}
	}
	if len(newerOutdated) > 0 {
		t.Error("the newer node reports that it is too old")
	}
	conn, err := able.Dial(ctx, "a-1", KindConsensus, 0)
	clustertest.Must(t, err)
	accepted, err := newer.Listener(KindConsensus, 0).Accept()
	clustertest.Must(t, err)
	if a, b := able.FormatMaxOf("a-1"), newer.FormatMaxOf("c-3"); a != 3 || b != 2 {
		t.Errorf("the two have heard %d and %d", a, b)
	}
	if got := newer.FormatMaxOf("b-2"); got != 0 {
		t.Errorf("a refused node has said %d", got)
	}
	conn.Close()
	accepted.Close()
	if got := able.FormatMaxOf("a-1"); got != 0 {
		t.Errorf("%d is remembered after the connection", got)
	}
}

func TestHandshakeReadsWhatItWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, -1, handshakeTextMax)
		want := hello{
			kind: Kind(rapid.Byte().Draw(t, "kind")), group: rapid.Uint32().Draw(t, "group"),
			cluster: text.Draw(t, "cluster"), from: text.Draw(t, "from"), to: text.Draw(t, "to"),
			formats: FormatRange{rapid.Byte().Draw(t, "lowest"), rapid.Byte().Draw(t, "highest")},
		}
		var wire bytes.Buffer
		clustertest.Must(t, want.write(&wire))
		if got, err := readHello(&wire); err != nil || got != want {
			t.Fatalf("got %+v, %v", got, err)
		}
	})
}
