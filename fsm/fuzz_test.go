package fsm

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/logtime"
)

// FuzzDecodeCommand: no input may panic; what is accepted has one canonical
// encoding, and applying it gives the same on two replicas.
func FuzzDecodeCommand(f *testing.F) {
	for _, frame := range goldenFrames(f) {
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		name, sends := SendsTo(frame)
		cmd, err := DecodeCommand(frame)
		if err != nil {
			return
		}
		canonical := mustFrame(t, cmd)
		if bytes.Equal(canonical, frame) && sends && string(name) != cmd.QueueName() {
			t.Fatalf("it sends to %q, not to %q", cmd.QueueName(), name)
		}
		again, err := DecodeCommand(canonical)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(cmd, again); diff != "" {
			t.Fatalf("decoded again (-first +again):\n%s", diff)
		}
		if !bytes.Equal(canonical, mustFrame(t, again)) {
			t.Fatal("two encodings of one command")
		}
		if raise, is := cmd.(*queue.SetFormatVersion); is && raise.Version > CurrentVersion {
			return // leaders refuse it; a node that finds it in its log ends on purpose
		}
		one, two := eventful(t), eventful(t)
		at := start.Add(logtime.Minute)
		if diff := cmp.Diff(one.apply(at, cmd), two.apply(at, again), sameBody); diff != "" {
			t.Fatalf("answers (-one +two):\n%s", diff)
		}
		if one.fsm.Position().StateHash != two.fsm.Position().StateHash {
			t.Fatal("states differ")
		}
		one.sound()
	})
}

// FuzzDecodeEntry: no input may panic; nothing is visited of an entry that is
// refused, and an accepted one encodes to the same bytes.
func FuzzDecodeEntry(f *testing.F) {
	frames := goldenFrames(f)
	f.Add(AppendEntry(nil, start, frames))
	f.Add(AppendEntry(nil, 0, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, entry := range [][]byte{data, resealedEnd(data)} {
			var frames [][]byte
			at, err := DecodeEntry(entry, func(frame []byte) error {
				frames = append(frames, frame)
				return nil
			})
			if err != nil {
				if len(frames) > 0 {
					t.Fatalf("%d commands of a refused entry were visited", len(frames))
				}
				continue
			}
			if !bytes.Equal(entry, AppendEntry(nil, at, frames)) {
				t.Fatal("an accepted entry has another encoding")
			}
		}
	})
}

// resealedEnd lets the fuzzer get past the checksum.
func resealedEnd(data []byte) []byte {
	if len(data) < EntryOverheadBytes {
		return data
	}
	return resealed(data, func(entry []byte) []byte { return entry })
}

// FuzzDecodeResponse: no input may panic; what is accepted round-trips.
func FuzzDecodeResponse(f *testing.F) {
	for _, result := range everyResult() {
		data, err := AppendResponse(nil, Response{Result: filledResult(f, distinct(), result)})
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
		if diff := cmp.Diff(r, returned(t, r), sameBody); diff != "" {
			t.Fatalf("decoded again (-first +again):\n%s", diff)
		}
	})
}

// FuzzRestore: no input may panic or take memory without measure; what is
// accepted is a sound state that gives a snapshot of its own.
func FuzzRestore(f *testing.F) {
	data := eventful(f).snapshot()
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, input := range [][]byte{data, resealedSections(data)} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			position, broker, err := ReadSnapshot(bytes.NewReader(input))
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > sectionBytesMax+64<<20 {
				t.Fatalf("%d bytes of input took %d bytes of memory", len(input), used)
			}
			if err != nil {
				continue
			}
			if err := broker.CheckInvariants(); err != nil {
				t.Fatal(err)
			}
			if err := WriteSnapshot(io.Discard, position, broker.Freeze()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// resealedSections makes numbers and checksums right, as far as the lengths
// are, so that the fuzzer gets to the records.
func resealedSections(data []byte) []byte {
	out := bytes.Clone(data)
	at := len(snapshotMagic) + 1
	for number := uint32(0); len(out) >= at+sectionHeaderBytes; number++ {
		binary.LittleEndian.PutUint32(out[at+1:], number)
		length := int(binary.LittleEndian.Uint32(out[at+5:]))
		end := at + sectionHeaderBytes + length
		if length > sectionBytesMax || end+4 > len(out) {
			break
		}
		binary.LittleEndian.PutUint32(out[end:], checksum(out[at:end]))
		at = end + 4
	}
	return out
}

// goldenFrames reads the frames of testdata/commands.
func goldenFrames(f *testing.F) [][]byte {
	files, err := filepath.Glob(filepath.Join("testdata", "commands", "*.golden"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no golden commands: %v", err)
	}
	var frames [][]byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.SplitSeq(string(text), "\n") {
			_, digits, _ := strings.Cut(line, " ")
			if frame, err := hex.DecodeString(digits); err == nil && len(frame) > 0 {
				frames = append(frames, frame)
			}
		}
	}
	return frames
}
