package http2

import (
	"bufio"

	"github.com/seriatimq/seriatim/transport/limits"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// inputMax bounds a frame with its continuations, whose number is not bounded. A header of
// HeaderBytesMax needs less.
const inputMax = 2*limits.HeaderBytesMax + 2*frameBytesMax

// input bounds the bytes that the framer reads for one frame with its continuations.
type input struct {
	reader *bufio.Reader
	left   int
	full   bool // the last read filled the buffer
	turn   *unverified.Turn
}

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
