package grpcwire

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"time"
)

// sharedReadBytes is what one read of a shared connection may bring: answers to many calls.
const sharedReadBytes = 64 << 10

// Shared is a connection that many goroutines make calls on, each with a Caller of its own.
type Shared struct {
	link    *link
	callers int // with the mutex of the link
}

// DialShared connects, as Dial does.
func DialShared(ctx context.Context, address string, timeout time.Duration, header func(method string) http.Header) (*Shared, error) {
	l, err := dial(ctx, address, timeout, header, sharedReadBytes)
	if err != nil {
		return nil, err
	}
	s := &Shared{link: l}
	go s.read()
	return s, nil
}

// Caller is one who makes calls on s, one at a time. It is nil if s is closed or broken.
func (s *Shared) Caller() *Caller {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	if s.link.broken != nil {
		return nil
	}
	s.callers++
	return &Caller{shared: s, call: call{over: make(chan struct{}, 1)}} // told once for each call
}

// read reads answers until the connection is gone.
func (s *Shared) read() {
	for {
		_, err := s.link.buffer.Peek(1)
		if errors.Is(err, os.ErrDeadlineExceeded) && s.idle() {
			continue
		}
		if err == nil {
			err = s.link.readFrame()
		}
		if err != nil {
			s.link.mu.Lock()
			_ = s.link.fail(err) // callers hear of it
			s.link.mu.Unlock()
			return
		}
	}
}

// idle reports whether nobody waits for an answer, and then takes the deadline away.
func (s *Shared) idle() bool {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	if len(s.link.calls) > 0 {
		return false
	}
	s.link.until = time.Time{}
	return s.link.conn.SetDeadline(time.Time{}) == nil
}

// Caller makes calls on a connection that others use, too. Used by one goroutine.
type Caller struct {
	shared *Shared
	call   call
}

// Call makes a call, as that of a Conn does.
func (c *Caller) Call(method string, message []byte, wait time.Duration) ([]byte, error) {
	l := c.shared.link
	if err := l.begin(&c.call, method, wait); err != nil {
		return nil, err
	}
	_ = l.put(&c.call, message, true, l.awaitRoom) // after an error the call is over, too
	<-c.call.over
	if !c.call.ended {
		l.mu.Lock()
		defer l.mu.Unlock()
		return nil, l.broken
	}
	return c.call.answer()
}

// Close closes the connection if no other caller is left.
func (c *Caller) Close() {
	s := c.shared
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	if s.callers--; s.callers == 0 {
		s.link.release()
		_ = s.link.fail(net.ErrClosed) // nobody is left to hear of it
	}
}
