package codec

import (
	"encoding/binary"
	"fmt"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
)

// A log entry is: format (1 byte), log time (8 bytes), count (4 bytes), term of the
// leader that proposed it (8 bytes), that many request ids (16 bytes each), that many
// frames, CRC-32C of all before (4 bytes). Numbers are little-endian. Every later format
// keeps the checksum in the last four bytes, so that damage is never mistaken for a format
// of the future.
const (
	entryFormat       = 1
	entryHeaderBytes  = 21
	requestIDBytes    = 16
	entryTrailerBytes = 4
)

// EntryOverheadBytes returns how many bytes an entry of so many commands has besides
// their frames.
func EntryOverheadBytes(commands int) int {
	return entryHeaderBytes + commands*requestIDBytes + entryTrailerBytes
}

// RequestID names a request in the log, so that the node that took it from a
// client finds out what became of it. The zero value names none.
type RequestID struct {
	Origin uint64 // of the process that took it
	Number uint64 // counted by that process
}

// Proposal is the content of one log entry.
type Proposal struct {
	At queue.Timestamp // log time
	// Term is the leader's. In the log of another term the entry is void: its
	// leader may have received it just before it lost leadership, and
	// have done so when it led again, while the requests were made anew elsewhere.
	Term     uint64
	Frames   [][]byte
	Requests []RequestID // of the frames, one each
}

// AppendEntry appends the log entry that applies frames, in order, at log
// time at, in any term and of no request. The frames come from AppendCommand.
func AppendEntry(dst []byte, at queue.Timestamp, frames [][]byte) []byte {
	return AppendProposal(dst, Proposal{At: at, Frames: frames, Requests: make([]RequestID, len(frames))})
}

// AppendProposal appends the log entry of a proposal.
func AppendProposal(dst []byte, p Proposal) []byte {
	start := len(dst)
	dst = append(dst, entryFormat)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(p.At))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(p.Frames)))
	dst = binary.LittleEndian.AppendUint64(dst, p.Term)
	for _, id := range p.Requests {
		dst = binary.LittleEndian.AppendUint64(dst, id.Origin)
		dst = binary.LittleEndian.AppendUint64(dst, id.Number)
	}
	for _, frame := range p.Frames {
		dst = append(dst, frame...)
	}
	return binary.LittleEndian.AppendUint32(dst, format.Checksum(dst[start:]))
}

// EntryHead is an entry without its frames. It is valid as long as the entry.
type EntryHead struct {
	At       queue.Timestamp // log time
	Term     uint64          // of the leader that proposed it; 0: any
	count    uint32
	requests []byte // a part of the entry
}

// Request is the id of the request that a frame comes from.
func (h EntryHead) Request(i int) (id RequestID) {
	id.Origin = binary.LittleEndian.Uint64(h.requests[i*requestIDBytes:])
	id.Number = binary.LittleEndian.Uint64(h.requests[i*requestIDBytes+8:])
	return id
}

// DecodeEntry verifies a log entry and visits its frames in order. Nothing is
// visited unless the whole entry is intact. A frame is a part of data and not
// valid longer than it. An error of visit ends the walk and is returned.
func DecodeEntry(data []byte, visit func(frame []byte) error) (EntryHead, error) {
	return decodeEntry(data, func(frame []byte, _ int) error { return visit(frame) })
}

// decodeEntry is DecodeEntry that also tells where in data each frame ends.
func decodeEntry(data []byte, visit func(frame []byte, end int) error) (EntryHead, error) {
	head, rest, err := openEntry(data)
	if err != nil {
		return EntryHead{}, err
	}
	// The frames are counted once before the first is visited, for
	// otherwise a cut would be found after half of them were applied.
	walk := rest
	for i := range head.count {
		_, after, err := cutFrame(walk)
		if err != nil {
			return EntryHead{}, fmt.Errorf("command %d of %d: %w", i+1, head.count, err)
		}
		walk = after
	}
	if len(walk) > 0 {
		return EntryHead{}, fmt.Errorf("%w: %d bytes after the last of %d commands", format.ErrMalformed, len(walk), head.count)
	}
	for i := range head.count {
		frame, after, err := cutFrame(rest)
		if err != nil {
			return EntryHead{}, err
		}
		if err := visit(frame, len(data)-entryTrailerBytes-len(after)); err != nil {
			return EntryHead{}, fmt.Errorf("command %d of %d: %w", i+1, head.count, err)
		}
		rest = after
	}
	return head, nil
}

// openEntry checks the envelope and returns what is between header and
// checksum.
func openEntry(data []byte) (head EntryHead, frames []byte, err error) {
	if len(data) < EntryOverheadBytes(0) {
		return head, nil, fmt.Errorf("%w: an entry of %d bytes", format.ErrChecksum, len(data))
	}
	end := len(data) - entryTrailerBytes
	want, got := binary.LittleEndian.Uint32(data[end:]), format.Checksum(data[:end])
	if want != got {
		return head, nil, fmt.Errorf("%w: entry checksum is %08x, its bytes give %08x", format.ErrChecksum, want, got)
	}
	if data[0] != entryFormat {
		return head, nil, fmt.Errorf("%w: entry format %d", format.ErrUnknownFormat, data[0])
	}
	head.At = queue.Timestamp(binary.LittleEndian.Uint64(data[1:]))
	head.count = binary.LittleEndian.Uint32(data[9:])
	head.Term = binary.LittleEndian.Uint64(data[13:])
	frames = data[entryHeaderBytes:end]
	size := requestIDBytes * uint64(head.count)
	if uint64(len(frames)) < size {
		return head, nil, fmt.Errorf("%w: %d bytes are too few for the ids of %d commands", format.ErrMalformed, len(frames), head.count)
	}
	head.requests = frames[:size:size]
	return head, frames[size:], nil
}
