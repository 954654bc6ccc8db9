package codec

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
)

func sampleEntry(t *testing.T) []byte {
	return AppendEntry(nil, 1_700_000_000_123, [][]byte{
		mustFrame(t, &queue.SendMessages{Queue: "orders.fifo", Entries: []queue.SendEntry{{Body: "hello"}}}),
		mustFrame(t, &queue.AdvanceClock{}),
		mustFrame(t, &queue.DeleteQueue{Queue: "orders.fifo"}),
	})
}

// visited decodes an entry and lists the numbers of its commands.
func visited(data []byte) (numbers []byte, at queue.Timestamp, err error) {
	head, err := DecodeEntry(data, func(frame []byte) error {
		numbers = append(numbers, frame[0])
		return nil
	})
	return numbers, head.At, err
}

func TestEntryRoundTrip(t *testing.T) {
	numbers, at, err := visited(sampleEntry(t))
	if err != nil || at != 1_700_000_000_123 {
		t.Fatalf("got time %d, %v", at, err)
	}
	if diff := cmp.Diff([]byte{20, 1, 11}, numbers); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

func TestEntryAppendsBehindOtherBytes(t *testing.T) {
	entry := AppendEntry([]byte("before"), 5, nil)
	if _, at, err := visited(entry[len("before"):]); err != nil || at != 5 {
		t.Errorf("got time %d, %v", at, err)
	}
}

func TestEveryFlippedBitOfAnEntryIsFound(t *testing.T) {
	entry := sampleEntry(t)
	for i := range len(entry) * 8 {
		damaged := slices.Clone(entry)
		damaged[i/8] ^= 1 << (i % 8)
		if numbers, _, err := visited(damaged); !errors.Is(err, format.ErrChecksum) || numbers != nil {
			t.Fatalf("bit %d: visited %v, %v", i, numbers, err)
		}
	}
}

func TestEveryCutOfAnEntryIsFound(t *testing.T) {
	entry := sampleEntry(t)
	for n := range entry {
		if numbers, _, err := visited(entry[:n]); !errors.Is(err, format.ErrChecksum) || numbers != nil {
			t.Fatalf("%d bytes: visited %v, %v", n, numbers, err)
		}
	}
	if _, _, err := visited(append(entry, 0)); !errors.Is(err, format.ErrChecksum) {
		t.Errorf("one byte more: %v", err)
	}
}

// resealed changes an entry and corrects its checksum.
func resealed(entry []byte, change func(entry []byte) []byte) []byte {
	body := change(slices.Clone(entry[:len(entry)-entryTrailerBytes]))
	return binary.LittleEndian.AppendUint32(body, format.Checksum(body))
}

func TestDecodeEntryRefuses(t *testing.T) {
	entry := sampleEntry(t)
	tests := []struct {
		name   string
		change func(entry []byte) []byte
		want   error
	}{
		{"later format", func(e []byte) []byte { e[0] = 2; return e }, format.ErrUnknownFormat},
		{"fewer commands than counted", func(e []byte) []byte { e[9]++; return e }, format.ErrMalformed},
		{"more commands than counted", func(e []byte) []byte { e[9]--; return e }, format.ErrMalformed},
		{"a command longer than the entry", func(e []byte) []byte { e[entryHeaderBytes+3*requestIDBytes+3]++; return e },
			format.ErrMalformed},
		{"a count of four thousand million", func(e []byte) []byte { e[12] = 0xff; return e }, format.ErrMalformed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			numbers, _, err := visited(resealed(entry, test.change))
			if !errors.Is(err, test.want) || numbers != nil {
				t.Errorf("visited %v, %v, want %v", numbers, err, test.want)
			}
		})
	}
}

func TestDecodeEntryReturnsTheVisitorsError(t *testing.T) {
	stop := errors.New("stop")
	calls := 0
	_, err := DecodeEntry(sampleEntry(t), func([]byte) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

// The bytes of a proposal, which never change.
func TestProposalBytes(t *testing.T) {
	entry := AppendProposal(nil, Proposal{
		At: 1000, Term: 3, Frames: [][]byte{mustFrame(t, &queue.AdvanceClock{})}, Requests: []RequestID{{Origin: 5, Number: 7}},
	})
	const want = "01" + "e803000000000000" + "01000000" + // format, time, count
		"0300000000000000" + "0500000000000000" + "0700000000000000" // term, origin, number
	if got := hex.EncodeToString(entry[:len(want)/2]); got != want {
		t.Errorf("an entry begins with %s, want %s", got, want)
	}
	if extra := len(entry) - len(mustFrame(t, &queue.AdvanceClock{})); extra != EntryOverheadBytes(1) {
		t.Errorf("an entry takes %d bytes more, want %d", extra, EntryOverheadBytes(1))
	}
	for cut := range entry {
		short := append([]byte(nil), entry[:cut]...)
		if _, err := DecodeEntry(short, func([]byte) error { return nil }); err == nil {
			t.Errorf("an entry cut to %d bytes was read", cut)
		}
	}
	// The entry claims more commands than it has request ids.
	forged := append([]byte(nil), entry[:len(entry)-4]...)
	forged[10], forged[13] = 0xff, 0xff
	sum := format.Checksum(forged)
	forged = append(forged, byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24))
	if _, err := DecodeEntry(forged, func([]byte) error { return nil }); !errors.Is(err, format.ErrMalformed) {
		t.Errorf("an entry without its ids: %v", err)
	}
}
