package grpc

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/limits"
)

// prefixBytes is the length of the prefix of a message: the compression flag and the length.
const prefixBytes = 5

// chunkBytes is the step in which a long message is taken from the budget.
const chunkBytes = 64 << 10

// errMoreMessages ends a body with a second message for a method that takes one.
var errMoreMessages = errors.New("a second message for a method that takes one")

// errMessageTooLong ends a body after the prefix of a message that is too long. The library
// reports the length.
var errMessageTooLong = errors.New("a message is too long")

// requestBody is the body of a call. The library would read a stream into memory as fast as it
// comes, so Read returns the next message only after permit. One goroutine calls Read; the
// other methods are safe for concurrent use.
type requestBody struct {
	body    io.ReadCloser
	ctx     context.Context
	budget  *budget.Bytes
	gated   bool          // a stream of messages
	permits chan struct{} // capacity 1: the handler waits for one message

	begun     bool // a message has begun
	closed    chan struct{}
	once      sync.Once // closes closed
	remaining int64     // bytes of the message that are not read yet
	arrived   int64     // bytes of the message that are read
	err       error     // of every further Read

	mu       sync.Mutex
	taken    int64 // of the budget, for the message
	released bool
}

func newRequestBody(ctx context.Context, body io.ReadCloser, b *budget.Bytes, gated bool) *requestBody {
	return &requestBody{body: body, ctx: ctx, budget: b, gated: gated, permits: make(chan struct{}, 1), closed: make(chan struct{})}
}

// permit allows one more message to be read.
func (b *requestBody) permit() {
	select {
	case b.permits <- struct{}{}:
	default: // permitted already
	}
}

// Read reads a part of a message.
func (b *requestBody) Read(p []byte) (n int, err error) {
	if b.err != nil {
		return 0, b.err
	}
	if len(p) <= prefixBytes {
		return 0, io.ErrShortBuffer
	}
	if b.remaining == 0 {
		if n, err = b.begin(p); err != nil || b.remaining == 0 {
			return n, err
		}
	}
	room, err := b.take()
	if err != nil {
		b.err = err
		return n, nil // the next Read returns the error
	}
	more, err := b.body.Read(p[n:min(int64(len(p)), int64(n)+min(b.remaining, room))])
	b.remaining -= int64(more)
	b.arrived += int64(more)
	if errors.Is(err, io.EOF) && b.remaining > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n + more, err
}

// begin waits for a permit and reads the prefix of the next message.
func (b *requestBody) begin(p []byte) (int, error) {
	if b.gated {
		select {
		case <-b.permits:
		case <-b.ctx.Done():
			b.err = b.ctx.Err()
			return 0, b.err
		case <-b.closed:
			b.err = http.ErrBodyReadAfterClose
			return 0, b.err
		}
		b.releaseMessage()
	} else if b.begun {
		n, err := b.body.Read(p[:1])
		if b.err = err; n > 0 {
			b.err = errMoreMessages
		}
		return 0, b.err
	}
	b.begun = true
	n, err := io.ReadFull(b.body, p[:prefixBytes])
	if err != nil {
		b.err = err
		return n, err
	}
	b.remaining, b.arrived = int64(binary.BigEndian.Uint32(p[1:prefixBytes])), 0
	if b.remaining > messageBytesMax {
		b.remaining, b.err = 0, errMessageTooLong
	}
	return n, nil
}

// take takes the next bytes of the message from the budget, and returns how many may be read.
func (b *requestBody) take() (room int64, err error) {
	b.mu.Lock()
	room = b.taken + limits.FreeBytes - b.arrived
	b.mu.Unlock()
	if room > 0 {
		return room, nil
	}
	n := min(chunkBytes, b.remaining)
	if err := b.budget.Acquire(b.ctx, n, budget.WaitMax); err != nil {
		return 0, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.released {
		b.budget.Release(n)
		return 0, context.Canceled // the call is over
	}
	b.taken += n
	return n, nil
}

// releaseMessage returns the bytes of the last message to the budget.
func (b *requestBody) releaseMessage() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.budget.Release(b.taken)
	b.taken = 0
}

// release returns all bytes to the budget at the end of the call.
func (b *requestBody) release() {
	b.mu.Lock()
	b.released = true
	b.mu.Unlock()
	b.releaseMessage()
}

// Close ends Read.
func (b *requestBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.body.Close()
}
