package fsm

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/seriatimq/seriatim/queue"
)

// A log entry is: format (1 byte), flags (1 byte), log time (8 bytes), count
// (4 bytes), that many frames, CRC-32C of all before (4 bytes). Numbers are
// little-endian. Every later format keeps the checksum in the last four bytes,
// so that damage is never mistaken for a format of the future.
const (
	entryFormat       = 1
	entryHeaderBytes  = 14
	entryTrailerBytes = 4
	// EntryOverheadBytes is what an entry costs beside its frames.
	EntryOverheadBytes = entryHeaderBytes + entryTrailerBytes
)

// checksum is CRC-32C (Castagnoli), which processors compute in hardware.
func checksum(parts ...[]byte) uint32 {
	sum := uint32(0)
	table := crc32.MakeTable(crc32.Castagnoli)
	for _, p := range parts {
		sum = crc32.Update(sum, table, p)
	}
	return sum
}

// AppendEntry appends the log entry that applies frames, in order, at log
// time at. The frames come from AppendCommand.
func AppendEntry(dst []byte, at queue.Timestamp, frames [][]byte) []byte {
	start := len(dst)
	dst = append(dst, entryFormat, 0)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(at))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(frames)))
	for _, frame := range frames {
		dst = append(dst, frame...)
	}
	return binary.LittleEndian.AppendUint32(dst, checksum(dst[start:]))
}

// DecodeEntry verifies a log entry and visits its frames in order. Nothing is
// visited unless the whole entry is intact. A frame is a part of data and not
// valid longer than it. An error of visit ends the walk and is returned.
func DecodeEntry(data []byte, visit func(frame []byte) error) (queue.Timestamp, error) {
	at, count, rest, err := openEntry(data)
	if err != nil {
		return 0, err
	}
	// The frames are counted once before the first is visited, for
	// otherwise a cut would be found after half of them were applied.
	walk := rest
	for i := range count {
		_, after, err := cutFrame(walk)
		if err != nil {
			return 0, fmt.Errorf("command %d of %d: %w", i+1, count, err)
		}
		walk = after
	}
	if len(walk) > 0 {
		return 0, fmt.Errorf("%w: %d bytes after the last of %d commands", ErrMalformed, len(walk), count)
	}
	for i := range count {
		frame, after, err := cutFrame(rest)
		if err != nil {
			return 0, err
		}
		if err := visit(frame); err != nil {
			return 0, fmt.Errorf("command %d of %d: %w", i+1, count, err)
		}
		rest = after
	}
	return at, nil
}

// openEntry checks the envelope and returns what is between header and
// checksum.
func openEntry(data []byte) (at queue.Timestamp, count uint32, frames []byte, err error) {
	if len(data) < EntryOverheadBytes {
		return 0, 0, nil, fmt.Errorf("%w: an entry of %d bytes", ErrChecksum, len(data))
	}
	end := len(data) - entryTrailerBytes
	want, got := binary.LittleEndian.Uint32(data[end:]), checksum(data[:end])
	if want != got {
		return 0, 0, nil, fmt.Errorf("%w: entry checksum is %08x, its bytes give %08x", ErrChecksum, want, got)
	}
	if data[0] != entryFormat || data[1] != 0 {
		return 0, 0, nil, fmt.Errorf("%w: entry format %d, flags %#02x", ErrUnknownFormat, data[0], data[1])
	}
	at = queue.Timestamp(binary.LittleEndian.Uint64(data[2:]))
	count = binary.LittleEndian.Uint32(data[10:])
	return at, count, data[entryHeaderBytes:end], nil
}
