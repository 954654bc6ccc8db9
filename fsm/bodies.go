package fsm

import (
	"io"

	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/content"
)

// BodyStore has the bodies of messages in files of this node. Which they are and where
// they lie is no part of the state.
type BodyStore interface {
	content.Reader
	// Begin returns what a new state keeps its bodies in, which counts only its own.
	Begin() StateBodies
}

// StateBodies are the bodies that one state has in a BodyStore. Capture is safe for
// concurrent use with Read only; the goroutine that changes the state calls all else.
type StateBodies interface {
	content.Store
	// Adopt says that the state is the one this node goes on with, and can be brought
	// back without what earlier ones had. It fails if a body of the state is not there.
	Adopt() error
	// Capture keeps all bodies that the state has at this moment until Release.
	Capture() CapturedBodies
}

// CapturedBodies are those of a state at some moment.
type CapturedBodies interface {
	// Sync returns when all of them are on disk.
	Sync() error
	// Stored says that a snapshot which refers to them is on disk: what was free by
	// then is never asked for again.
	Stored()
	// Release lets go of them. More than once is allowed.
	Release()
}

// inMemory are the StateBodies of an FSM without a BodyStore.
type inMemory struct{ content.Memory }

func (inMemory) Adopt() error            { return nil }
func (inMemory) Capture() CapturedBodies { return inMemory{} }
func (inMemory) Sync() error             { return nil }
func (inMemory) Stored()                 {}
func (inMemory) Release()                {}

// InlineSnapshot copies a snapshot that Captured.Persist wrote, with the bodies that it
// refers to in it.
func InlineSnapshot(w io.Writer, r io.Reader, bodies content.Reader) error {
	return snapshot.Inline(w, r, bodies)
}

// InlineSnapshotSize is how much InlineSnapshot would write. It reads no bodies.
func InlineSnapshotSize(r io.Reader) (int64, error) { return snapshot.InlineSize(r) }

// FillSnapshot copies a snapshot that another node wrote, with what source gives in the
// place of bodies: the texts, or where this node has them.
func FillSnapshot(w io.Writer, r io.Reader, source SnapshotSource) error {
	return snapshot.Fill(w, r, source)
}

// What FillSnapshot works with.
type (
	// SnapshotSource gives the bodies of a snapshot that another node wrote.
	SnapshotSource = snapshot.Source
	// WantedBody is one of them.
	WantedBody = snapshot.Wanted
	// Body is the text of a message, or where it is.
	Body = queue.Body
)

// NewBody is a body that is in memory.
func NewBody(text string) Body { return content.NewBody(text) }

// HeldBody is the body that a message has in the present state, if it is the wanted one:
// as long, and with the same keyed hash. It may have to be read.
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

// beginBodies returns what a new state keeps its bodies in.
func (f *FSM) beginBodies() StateBodies {
	if f.options.Bodies == nil {
		return inMemory{}
	}
	return f.options.Bodies.Begin()
}

// ReadBodies puts into an answer the bodies that it refers to. It reads files: call it on
// no goroutine that others wait for. Safe for concurrent use.
func (f *FSM) ReadBodies(response codec.Response) (codec.Response, error) {
	received, ok := response.Result.(queue.MessagesReceived)
	if !ok || f.options.Bodies == nil {
		return response, nil
	}
	messages, err := readBodies(received.Messages, f.options.Bodies)
	received.Messages = messages
	return codec.Response{Result: received, Err: response.Err}, err
}

// readBodies returns messages with their bodies in memory. It leaves the list as it is,
// which others have, too.
func readBodies(messages []queue.ReceivedMessage, bodies content.Reader) ([]queue.ReceivedMessage, error) {
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
