package unverified

import (
	"context"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

func oneTurn(now func() time.Time) *Limiter {
	l := New(now)
	l.free = 1
	return l
}

// pipe returns a Conn whose other end reads nothing.
func pipe(t *testing.T, l *Limiter) *Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() {
		ours.Close()
		theirs.Close()
	})
	return l.Wrap(ours)
}

func turnOf(c *Conn) *Turn {
	t := new(Turn)
	t.Attach(c)
	return t
}

// lined waits until so many turns are waiting.
func lined(l *Limiter, count int) {
	for {
		l.mu.Lock()
		n := 0
		for c := l.first; c != nil; c = c.next {
			n += len(c.waiting)
		}
		l.mu.Unlock()
		if n == count {
			return
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// Connections take turns, however many requests each of them has.
func TestTurns(t *testing.T) {
	l := oneTurn(time.Now)
	first := turnOf(pipe(t, l))
	first.Begin()
	a, b := pipe(t, l), pipe(t, l)
	var order []string // in which requests got the turn
	var all sync.WaitGroup
	for i, w := range []struct {
		conn *Conn
		name string
	}{{a, "a1"}, {a, "a2"}, {a, "a3"}, {b, "b1"}, {b, "b2"}} {
		all.Go(func() {
			turn := turnOf(w.conn)
			turn.Begin()
			order = append(order, w.name)
			turn.Permitted()
			turn.End(0)
		})
		lined(l, i+1)
	}
	first.End(0)
	all.Wait()
	if want := []string{"a1", "b1", "a2", "b2", "a3"}; !slices.Equal(order, want) {
		t.Errorf("turns came in the order %v, want %v", order, want)
	}
	if l.free != 1 || l.first != nil || l.last != nil {
		t.Errorf("%d turns are free", l.free)
	}
}

// A verified request gives up its turn. The next requests of its connection need none, until one of
// them is refused.
func TestTrust(t *testing.T) {
	l := oneTurn(time.Now)
	turn, other := turnOf(pipe(t, l)), turnOf(pipe(t, l))
	turn.Begin()
	turn.Verified()
	other.Begin() // the only one
	turn.End(0)
	for range 3 {
		turn.Begin()
		turn.Verified()
		turn.End(0)
	}
	turn.Begin()
	turn.End(0) // refused
	began := make(chan struct{})
	go func() {
		turn.Begin()
		close(began)
	}()
	lined(l, 1)
	if held := other.Release(); !held {
		t.Error("the turn was not held")
	}
	<-began
	turn.Release()
	other.Resume(true)
	other.End(0)
	if l.free != 1 {
		t.Errorf("%d turns are free", l.free)
	}
}

// An address may have so many refused requests per second. A permitted request does not count.
func TestRefusalsOfAddress(t *testing.T) {
	now := time.Unix(1000, 0)
	l := oneTurn(func() time.Time { return now })
	c := pipe(t, l)
	turn := turnOf(c)
	wait := func() time.Duration { return time.Duration(c.notBefore.Load() - now.UnixNano()) }
	for range refusalsBurst {
		turn.Begin()
		turn.End(0)
		turn.Begin()
		turn.Permitted()
		turn.End(0)
	}
	if wait() > 0 {
		t.Errorf("a burst waits for %v", wait())
	}
	c.Refused(0)
	if wait() != time.Second/refusalsPerSecond {
		t.Errorf("the next one waits for %v", wait())
	}
	c.Refused(9 * refusalBytes)
	if wait() != 11*time.Second/refusalsPerSecond {
		t.Errorf("a large one waits for %v", wait())
	}
	for range 10 * refusalsPerSecond {
		c.Refused(0)
	}
	if wait() != refusalWaitMax {
		t.Errorf("after many refusals the next one waits for %v", wait())
	}
	now = now.Add(time.Hour)
	if c.Refused(0); wait() > 0 {
		t.Errorf("an hour later it waits for %v", wait())
	}
}

// Close ends the waits of connections.
func TestCloseEndsWaits(t *testing.T) {
	now := time.Unix(1000, 0) // the clock does not move
	l := oneTurn(func() time.Time { return now })
	c := pipe(t, l)
	for range 2 * refusalsBurst {
		c.Refused(refusalBytes)
	}
	began := make(chan struct{})
	go func() {
		turnOf(c).Begin()
		close(began)
	}()
	l.Close()
	<-began
}

// A client that does not read its answer does not occupy a turn.
func TestWriteThatWaits(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	clustertest.Must(t, err)
	defer listener.Close()
	client, err := net.Dial("tcp", listener.Addr().String())
	clustertest.Must(t, err)
	defer client.Close()
	accepted, err := listener.Accept()
	clustertest.Must(t, err)
	l := oneTurn(time.Now)
	c := l.Wrap(accepted)
	defer c.Close()
	turn, other := turnOf(c), turnOf(pipe(t, l))
	turn.Begin()
	const size = 64 << 20
	wrote := make(chan error, 1)
	go func() {
		n, err := c.Write(make([]byte, size))
		if err == nil && n != size {
			err = io.ErrShortWrite
		}
		wrote <- err
	}()
	other.Begin() // possible once the write gives up its turn
	other.End(0)
	if n, err := io.CopyN(io.Discard, client, size); err != nil {
		t.Errorf("%d bytes were read: %v", n, err)
	}
	clustertest.Check(t, <-wrote)
	turn.End(0)
	if l.free != 1 {
		t.Errorf("%d turns are free", l.free)
	}
}

// A request takes over the turn of the goroutine that has read it.
func TestTakeOver(t *testing.T) {
	l := oneTurn(time.Now)
	c := pipe(t, l)
	reader, request := turnOf(c), turnOf(c)
	reader.Begin()
	request.TakeOver(reader)
	if reader.Release() {
		t.Error("the reader holds the turn still")
	}
	c.Yield()
	if request.Release() || l.free != 1 {
		t.Errorf("after Yield %d turns are free", l.free)
	}
}

// Without a Conn nothing waits.
func TestNoConn(t *testing.T) {
	From(context.Background()).Verified()
	turn := turnOf(Of(nil))
	for _, turn := range []*Turn{nil, turn} {
		turn.Begin()
		turn.Resume(turn.Release())
		turn.Permitted()
		turn.End(1)
	}
	if got := From(With(context.Background(), turn)); got != turn {
		t.Error("the context has another turn")
	}
}
