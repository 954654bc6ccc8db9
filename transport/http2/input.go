package http2

import (
	"bufio"

	"github.com/seriatimq/seriatim/transport/limits"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// inputMax bounds a frame with those that must follow it: a block of headers may be in any
// number of frames, empty ones among them. No header of HeaderBytesMax needs as much.
const inputMax = 2*limits.HeaderBytesMax + 2*frameBytesMax

// input bounds the bytes that a framer reads for one frame and those that must follow it.
type input struct {
	reader *bufio.Reader
	left   int
	full   bool // the last read has filled the buffer
	turn   *unverified.Turn
}

// Read reads.
func (i *input) Read(b []byte) (int, error) {
	if i.left == 0 {
		return 0, errIdleFrames
	}
	if i.reader.Buffered() == 0 {
		held := i.turn.Release()
		defer func() { i.turn.Resume(held) }()
	}
	n, err := i.reader.Read(b[:min(len(b), i.left)])
	i.left -= n
	return n, err
}
