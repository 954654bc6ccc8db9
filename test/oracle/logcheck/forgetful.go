package logcheck

import (
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/queue/content"
)

// forgetful is where the twin has bodies: nowhere. A state machine never reads one, and
// the state's hash needs their digests alone. Those of a long run do not fit in memory.
type forgetful struct {
	content.Memory
	appended uint32
}

// forgottenLeast is the length from which bodies are forgotten: that from which nodes
// have them in segments.
const forgottenLeast = 128

var _ fsm.BodyStore = (*forgetful)(nil)

// Begin is for a new state.
func (f *forgetful) Begin() fsm.StateBodies { return f }

// Keeps says which bodies are forgotten.
func (f *forgetful) Keeps(size int) bool { return size >= forgottenLeast }

// Append forgets a body.
func (f *forgetful) Append(text string, digest uint64) content.Body {
	f.appended++
	return content.StoredBody(content.Place{Segment: 1, Offset: f.appended}, uint32(len(text)), digest)
}

// Adopt does nothing, as all else.
func (f *forgetful) Adopt() error { return nil }

// Capture captures nothing.
func (f *forgetful) Capture() fsm.CapturedBodies { return forgotten{} }

// forgotten is a captured forgetful.
type forgotten struct{}

func (forgotten) Sync() error { return nil }
func (forgotten) Stored()     {}
func (forgotten) Release()    {}
