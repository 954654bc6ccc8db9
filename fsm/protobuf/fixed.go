package protobuf

import (
	"fmt"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
)

// IDBytes leaves out an id of zeros.
func IDBytes(id *queue.MessageID) []byte {
	if *id == (queue.MessageID{}) {
		return nil
	}
	return id[:]
}

// Fill copies a value of fixed length that may be left out.
func Fill(dst, src []byte, what string) error {
	if len(src) != 0 && len(src) != len(dst) {
		return fmt.Errorf("%w: a %s of %d bytes", format.ErrMalformed, what, len(src))
	}
	copy(dst, src)
	return nil
}
