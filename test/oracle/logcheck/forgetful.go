package logcheck

import (
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/queue/content"
)

// forgetful is where the twin has bodies: nowhere. A state machine never reads one, and
// the state's hash needs their digests alone. Those of a long run do not fit in memory.
type forgetful struct{ content.Digests }

var _ fsm.BodyStore = forgetful{}

// Begin is for a new state.
func (f forgetful) Begin() fsm.StateBodies { return f }

// Adopt does nothing, as all else.
func (forgetful) Adopt() error { return nil }

// Capture captures nothing.
func (forgetful) Capture() fsm.CapturedBodies { return forgotten{} }

// forgotten is a captured forgetful.
type forgotten struct{}

func (forgotten) Sync() error { return nil }
func (forgotten) Stored()     {}
func (forgotten) Release()    {}
