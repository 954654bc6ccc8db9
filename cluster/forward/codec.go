package forward

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/cluster/peerpb"
)

const (
	// frameRequestsMax bounds the requests or answers in one frame. Batches of this size make the
	// stream five times as fast as single calls (raft.md A6, B7).
	frameRequestsMax = 64
	// frameItemsMax bounds the requests or answers that a node accepts in one frame: an empty one
	// takes 2 bytes in the frame and 150 in memory.
	frameItemsMax = 1024
	// frameBytesMax ends a frame early. A larger request gets a frame of its own.
	frameBytesMax = 1 << 20
	// frameLimit is the largest frame that a node accepts: ten messages of 1 MiB with their
	// attributes, escaped and packed, and a reserve.
	frameLimit = 64 << 20
)

// Tags of the lists in peer.proto: field number and wire type.
const (
	requestsTag = 3<<3 | 2
	answersTag  = 1<<3 | 2
)

// message is a RequestFrame or an AnswerFrame.
type message interface {
	proto.Message
	AppendFast(b []byte) ([]byte, bool)
	ReadFast(data []byte, shared string) bool
}

// appendFrame appends an encoded frame to b.
func appendFrame(b []byte, frame message) ([]byte, error) {
	if appended, fast := frame.AppendFast(b); fast {
		return appended, nil
	}
	return proto.MarshalOptions{}.MarshalAppend(b, frame)
}

// decodeFrame decodes a frame whose list has the given tag. The frame refers to data.
func decodeFrame(data []byte, list uint64, frame message) error {
	if n := peerpb.FastCount(data, list); n > frameItemsMax {
		return fmt.Errorf("a frame of another node has %d requests or answers, and may have %d", n, frameItemsMax)
	}
	if frame.ReadFast(data, "") {
		return nil
	}
	// The frame is malformed, or has fields of a later version.
	if err := proto.Unmarshal(data, frame); err != nil { // resets it
		return fmt.Errorf("a frame of another node: %w", err)
	}
	return nil
}

// decodeRequests decodes a RequestFrame.
func decodeRequests(data []byte) (*peerpb.RequestFrame, error) {
	frame := new(peerpb.RequestFrame)
	if err := decodeFrame(data, requestsTag, frame); err != nil {
		return nil, err
	}
	for _, r := range frame.Requests {
		if r.Kind == Receive { // it may outlive the other requests of its frame
			r.Command = slices.Clone(r.Command)
		}
	}
	return frame, nil
}
