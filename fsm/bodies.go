package fsm

import (
	"io"

	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/message"
)

// BodyStore keeps bodies of messages in files of this node. The files are not part of the
// replicated state.
type BodyStore interface {
	message.Reader
	// Begin returns an empty store for the bodies of a new state.
	Begin() StateBodies
}

// StateBodies holds the bodies of one state in a BodyStore. Capture and Read are safe for
// concurrent use; the goroutine that changes the state calls the other methods.
type StateBodies interface {
	message.Store
	// Adopt makes this state the present one and releases the bodies of earlier states. It fails if
	// a body of the state is missing.
	Adopt() error
	// Capture keeps all bodies of the present state until Release.
	Capture() CapturedBodies
}

// CapturedBodies holds the bodies of a captured state.
type CapturedBodies interface {
	// Sync returns when all of them are on disk.
	Sync() error
	// Stored reports that a snapshot with references to them is on disk. The store may then reclaim
	// the space freed before the capture.
	Stored()
	// Release releases the bodies. It may be called more than once.
	Release()
}

// inMemory is the StateBodies of an FSM without a BodyStore: bodies stay in memory.
type inMemory struct{ message.Memory }

func (inMemory) Adopt() error            { return nil }
func (inMemory) Capture() CapturedBodies { return inMemory{} }
func (inMemory) Sync() error             { return nil }
func (inMemory) Stored()                 {}
func (inMemory) Release()                {}

// InlineSnapshot copies a snapshot of Captured.Persist and replaces references by the bodies.
func InlineSnapshot(w io.Writer, r io.Reader, bodies message.Reader) error {
	return snapshot.Inline(w, r, bodies)
}

// InlineSnapshotSize returns the size of the output of InlineSnapshot. It reads no bodies.
func InlineSnapshotSize(r io.Reader) (int64, error) { return snapshot.InlineSize(r) }

// FillSnapshot copies a snapshot of another node and replaces its references: by bodies, or by
// references to this node's files.
func FillSnapshot(w io.Writer, r io.Reader, source SnapshotSource) error {
	return snapshot.Fill(w, r, source)
}

// Types for FillSnapshot.
type (
	// SnapshotSource supplies the bodies.
	SnapshotSource = snapshot.Source
	// WantedBody identifies a body.
	WantedBody = snapshot.Wanted
	// Body is the text of a message, or its location.
	Body = queue.Body
)

// NewBody returns a body in memory.
func NewBody(text string) Body { return message.NewBody(text) }

// HeldBody returns the body of a message in the present state, if it has the wanted length and
// keyed hash. It may have to be read from a file.
func (f *FSM) HeldBody(wanted WantedBody) (body Body, held bool) {
	f.Read(func(v queue.View) {
		messages, refusal := v.Peek(wanted.Queue, wanted.Sequence, "", 1)
		if refusal != nil || len(messages) == 0 || messages[0].Sequence != wanted.Sequence {
			return
		}
		body = messages[0].Body
		digest := body.Digest()
		if !body.Stored() {
			digest = v.BodyDigest(body.String())
		}
		held = body.Len() == wanted.Body.Len() && digest == wanted.Body.Digest()
	})
	return body, held
}

func (f *FSM) beginBodies() StateBodies {
	if f.options.Bodies == nil {
		return inMemory{}
	}
	return f.options.Bodies.Begin()
}

// ReadBodies returns an answer with its bodies in memory. It may read files, so do not call it
// where other work must not wait. Safe for concurrent use.
func (f *FSM) ReadBodies(response codec.Response) (codec.Response, error) {
	received, ok := response.Result.(queue.MessagesReceived)
	if !ok || f.options.Bodies == nil {
		return response, nil
	}
	messages, err := readBodies(received.Messages, f.options.Bodies)
	received.Messages = messages
	return codec.Response{Result: received, Err: response.Err}, err
}

// readBodies returns messages with their bodies in memory. It copies the list before a change,
// because others share it.
func readBodies(messages []queue.ReceivedMessage, bodies message.Reader) ([]queue.ReceivedMessage, error) {
	copied := false
	for i := range messages {
		if !messages[i].Body.Stored() {
			continue
		}
		if !copied {
			messages, copied = append([]queue.ReceivedMessage(nil), messages...), true
		}
		var err error
		if messages[i].Body, err = bodies.Read(messages[i].Body); err != nil {
			return nil, err
		}
	}
	return messages, nil
}
