package logcheck

import (
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/queue/message"
)

// forgetful is the body store of the twin. It stores only digests, which the state hash needs,
// because the bodies of a long run do not fit in memory.
type forgetful struct{ message.Digests }

var _ fsm.BodyStore = forgetful{}

// Begin is for a new state.
func (f forgetful) Begin() fsm.StateBodies { return f }

// Adopt does nothing, like the other methods.
func (forgetful) Adopt() error { return nil }

// Capture captures nothing.
func (forgetful) Capture() fsm.CapturedBodies { return forgotten{} }

// forgotten is a captured forgetful.
type forgotten struct{}

func (forgotten) Sync() error { return nil }
func (forgotten) Stored()     {}
func (forgotten) Release()    {}
