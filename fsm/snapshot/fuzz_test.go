package snapshot

import (
	"bytes"
	"encoding/binary"
	"io"
	"runtime"
	"testing"

	"github.com/seriatimq/seriatim/fsm/format"
)

// FuzzRestore checks that no input panics or needs unlimited memory, and that an accepted snapshot
// gives a valid state that can be written again.
func FuzzRestore(f *testing.F) {
	data := sample(f)
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, input := range [][]byte{data, resealedSections(data)} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			position, broker, err := Read(bytes.NewReader(input))
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
			if err := Write(io.Discard, position, broker.Freeze()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// resealedSections corrects the numbers and checksums of the sections, as far as their lengths are
// valid, so that the fuzzer gets to the records.
func resealedSections(data []byte) []byte {
	out := bytes.Clone(data)
	at := len(magic) + 1
	for number := uint32(0); len(out) >= at+sectionHeaderBytes; number++ {
		binary.LittleEndian.PutUint32(out[at+1:], number)
		length := int(binary.LittleEndian.Uint32(out[at+5:]))
		end := at + sectionHeaderBytes + length
		if length > sectionBytesMax || end+4 > len(out) {
			break
		}
		binary.LittleEndian.PutUint32(out[end:], format.Checksum(out[at:end]))
		at = end + 4
	}
	return out
}
