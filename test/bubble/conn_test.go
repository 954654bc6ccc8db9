package bubble

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// pipe is one direction of a connection: bytes with their times of arrival. Writes never block, as
// if the send buffer was unlimited. Bytes on a cut link arrive when it is restored. Safe for
// concurrent use.
type pipe struct {
	network  *network
	from, to *process

	mu       sync.Mutex
	segments []segment
	last     time.Time // arrival time of the newest segment; later segments arrive later
	reset    bool      // the writer's end has died
	deaf     bool      // the reader's end has closed
	deadline time.Time // of reads
	wake     chan struct{}
	watched  bool // a timer watches the unacknowledged bytes
}

// segment is the content of one write. A segment without content is the end of the stream.
type segment struct {
	content []byte
	arrives time.Time
	sent    time.Time
}

// unacknowledgedLimit bounds the time that bytes may be in flight before the connection breaks, like
// the TCP setting of package cluster.
const unacknowledgedLimit = 10 * time.Second

func newPipe(n *network, from, to *process) *pipe {
	return &pipe{network: n, from: from, to: to, wake: make(chan struct{}, 1)}
}

func (p *pipe) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// write sends content, or the end of the stream if there is none.
func (p *pipe) write(content []byte) error {
	delay := p.network.delay(p.from, p.to, true)
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.reset, p.from.dead():
		return syscall.ECONNRESET
	case p.network.open(p.from, p.to) && p.network.open(p.to, p.from) && (p.deaf || p.to.dead() && p.network.another(p.to)):
		p.reset = true
		return syscall.EPIPE
	}
	arrives := now.Add(delay)
	if arrives.Before(p.last) {
		arrives = p.last
	}
	p.last = arrives
	p.segments = append(p.segments, segment{content: append([]byte(nil), content...), arrives: arrives, sent: now})
	if !p.watched {
		p.watched = true
		time.AfterFunc(unacknowledgedLimit, p.expire)
	}
	p.signal()
	return nil
}

// expire breaks the connection if its oldest bytes have been in flight for too long.
func (p *pipe) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watched = false
	open := p.network.open(p.from, p.to) && !p.to.dead()
	if len(p.segments) == 0 || p.reset || open {
		return
	}
	if age := time.Since(p.segments[0].sent); age < unacknowledgedLimit {
		p.watched = true
		time.AfterFunc(unacknowledgedLimit-age, p.expire)
		return
	}
	p.reset = true
	p.signal()
}

// read waits for bytes, the end, or the deadline.
func (p *pipe) read(content []byte) (int, error) {
	for {
		n, wait, err := p.tryRead(content)
		if n > 0 || err != nil {
			return n, err
		}
		if wait < 0 {
			<-p.wake
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-p.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// tryRead reads what has arrived, or returns how long nothing will arrive; -1 means until it is
// woken.
func (p *pipe) tryRead(content []byte) (n int, wait time.Duration, err error) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	wait = -1
	switch {
	case p.to.dead():
		return 0, 0, net.ErrClosed
	case !p.deadline.IsZero() && !p.deadline.After(now):
		return 0, 0, os.ErrDeadlineExceeded
	case !p.deadline.IsZero():
		wait = p.deadline.Sub(now)
	}
	open := p.network.open(p.from, p.to)
	if len(p.segments) > 0 && open {
		head := &p.segments[0]
		if after := head.arrives.Sub(now); after > 0 {
			if wait < 0 || after < wait {
				wait = after
			}
			return 0, wait, nil
		}
		if len(head.content) == 0 {
			return 0, 0, io.EOF
		}
		n = copy(content, head.content)
		if head.content = head.content[n:]; len(head.content) == 0 {
			p.segments = p.segments[1:]
		}
		return n, 0, nil
	}
	if p.reset && (open || !p.from.dead()) {
		return 0, 0, syscall.ECONNRESET
	}
	return 0, wait, nil
}

// end is one end of a connection.
type end struct {
	in, out       *pipe
	local, remote net.Addr
	once          sync.Once
	closed        chan struct{}
	tap           func([]byte) // sees what is written; may be nil
	tapping       sync.Mutex   // orders writes as the tap sees them
}

var _ net.Conn = (*end)(nil)

func (e *end) Read(content []byte) (int, error) {
	n, err := e.in.read(content)
	select {
	case <-e.closed:
		return 0, net.ErrClosed
	default:
		return n, err
	}
}

func (e *end) Write(content []byte) (int, error) {
	select {
	case <-e.closed:
		return 0, net.ErrClosed
	default:
	}
	if len(content) == 0 {
		return 0, nil
	}
	e.tapping.Lock()
	defer e.tapping.Unlock()
	if err := e.out.write(content); err != nil {
		return 0, err
	}
	if e.tap != nil {
		e.tap(content)
	}
	return len(content), nil
}

func (e *end) Close() error {
	e.once.Do(func() {
		close(e.closed)
		_ = e.out.write(nil) // a broken connection needs no end of stream
		e.in.hangUp()
		e.in.signal()
		e.out.network.forget(e)
	})
	return nil
}

// hangUp ends the reading side.
func (p *pipe) hangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = true
	p.deadline = time.Unix(0, 1) // wakes a reader that waits
}

// breakOff ends the connection like a dying process: there is no end of stream, only a reset if the
// link is open.
func (p *pipe) breakOff() {
	p.mu.Lock()
	p.reset = true
	p.mu.Unlock()
	p.signal()
}

func (e *end) LocalAddr() net.Addr  { return e.local }
func (e *end) RemoteAddr() net.Addr { return e.remote }

func (e *end) SetDeadline(at time.Time) error { return e.SetReadDeadline(at) }

func (e *end) SetReadDeadline(at time.Time) error {
	e.in.mu.Lock()
	if !e.in.deaf {
		e.in.deadline = at
	}
	e.in.mu.Unlock()
	e.in.signal()
	return nil
}

// SetWriteDeadline does nothing: writes never block.
func (e *end) SetWriteDeadline(time.Time) error { return nil }
