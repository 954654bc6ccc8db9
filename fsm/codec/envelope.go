package codec

import (
	"encoding/binary"
	"fmt"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
)

// A log entry is: format (1 byte), log time (8 bytes), count (4 bytes), term of the leader that
// proposed it (8 bytes), as many request ids (16 bytes each), as many frames, CRC-32C of all bytes
// before it (4 bytes). Numbers are little-endian. Every later format must also end with this
// checksum, so that a node can tell damage from a newer format.
const (
	entryFormat       = 1
	entryHeaderBytes  = 21
	requestIDBytes    = 16
	entryTrailerBytes = 4
)

// EntryOverheadBytes returns the size of an entry without its frames.
func EntryOverheadBytes(commands int) int {
	return entryHeaderBytes + commands*requestIDBytes + entryTrailerBytes
}

// RequestID identifies a client's request in the log, so that the node that received it can find
// its outcome. The zero value means none.
type RequestID struct {
	Origin uint64 // the process that received the request
	Number uint64 // counts the requests of that process
}

// Proposal is the content of one log entry.
type Proposal struct {
	At queue.Timestamp // log time
	// Term is the term of the leader that proposed the entry. In the log of another term, the entry
	// is void: the leader received it before it lost leadership, and wrote it when it led again.
	// Meanwhile the requests may have been repeated elsewhere.
	Term     uint64
	Frames   [][]byte
	Requests []RequestID // ids of the requests, one for each frame
}

// AppendEntry appends the log entry that applies frames, in order, at a log time. Its term is 0,
// which fits any term, and its requests have no ids. The frames come from AppendCommand.
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

// EntryHead is an entry without its frames. It is valid as long as the bytes of the entry.
type EntryHead struct {
	At       queue.Timestamp // log time
	Term     uint64          // of the leader that proposed it; 0: any
	count    uint32
	requests []byte // part of the entry's bytes
}

// Request returns the id of the request that belongs to frame i.
func (h EntryHead) Request(i int) (id RequestID) {
	id.Origin = binary.LittleEndian.Uint64(h.requests[i*requestIDBytes:])
	id.Number = binary.LittleEndian.Uint64(h.requests[i*requestIDBytes+8:])
	return id
}

// DecodeEntry verifies a log entry and calls visit with its frames in order, unless a part of the
// entry is invalid. A frame is a part of data. An error of visit ends the walk and is returned.
func DecodeEntry(data []byte, visit func(frame []byte) error) (EntryHead, error) {
	return decodeEntry(data, func(frame []byte, _ int) error { return visit(frame) })
}

// decodeEntry is DecodeEntry, and also passes the offset in data at which each frame ends.
func decodeEntry(data []byte, visit func(frame []byte, end int) error) (EntryHead, error) {
	head, rest, err := openEntry(data)
	if err != nil {
		return EntryHead{}, err
	}
	// Check all frames before the first is visited. Otherwise an invalid one could be found after
	// half of the commands were applied.
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

// openEntry checks the envelope and returns the bytes between header and checksum.
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
