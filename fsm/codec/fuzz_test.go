package codec

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/fsm/fsmtest"
)

// FuzzDecodeEntry checks that no input panics, that no command of a refused entry is visited, and
// that an accepted entry is encoded to the same bytes.
func FuzzDecodeEntry(f *testing.F) {
	frames := fsmtest.GoldenFrames(f, filepath.Join("testdata", "commands"))
	f.Add(AppendEntry(nil, 1_700_000_000_000, frames))
	f.Add(AppendEntry(nil, 0, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, entry := range [][]byte{data, resealedEnd(data)} {
			var frames [][]byte
			head, err := DecodeEntry(entry, func(frame []byte) error {
				frames = append(frames, frame)
				return nil
			})
			if err != nil {
				if len(frames) > 0 {
					t.Fatalf("%d commands of a refused entry were visited", len(frames))
				}
				continue
			}
			ids := make([]RequestID, len(frames))
			for i := range ids {
				ids[i] = head.Request(i)
			}
			if !bytes.Equal(entry, AppendProposal(nil, Proposal{At: head.At, Term: head.Term, Frames: frames, Requests: ids})) {
				t.Fatal("an accepted entry has another encoding")
			}
		}
	})
}

// resealedEnd corrects the checksum, so that the fuzzer gets past it.
func resealedEnd(data []byte) []byte {
	if len(data) < EntryOverheadBytes(0) {
		return data
	}
	return resealed(data, func(entry []byte) []byte { return entry })
}

// FuzzDecodeResponse checks that no input panics and that an accepted response round-trips.
func FuzzDecodeResponse(f *testing.F) {
	for _, result := range everyResult() {
		data, err := AppendResponse(nil, Response{Result: filledResult(f, fsmtest.Distinct(), result)})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := DecodeResponse(data)
		if err != nil {
			return
		}
		if diff := cmp.Diff(r, returned(t, r), fsmtest.SameBody); diff != "" {
			t.Fatalf("decoded again (-first +again):\n%s", diff)
		}
	})
}
