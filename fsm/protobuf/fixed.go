package protobuf

import (
	"fmt"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
)

// IDBytes returns the bytes of an id, nil for zero.
func IDBytes(id *queue.MessageID) []byte {
	if *id == (queue.MessageID{}) {
		return nil
	}
	return id[:]
}

// Fill copies an optional value of fixed length. what names it in the error.
func Fill(dst, src []byte, what string) error {
	if len(src) != 0 && len(src) != len(dst) {
		return fmt.Errorf("%w: a %s of %d bytes", format.ErrMalformed, what, len(src))
	}
	copy(dst, src)
	return nil
}
