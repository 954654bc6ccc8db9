package grpcwire

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
)

// callers makes so many callers of a connection to a server of grpc-go that calls echo.
func callers(t *testing.T, n int) []*Caller {
	t.Helper()
	return callersOf(t, listenEcho(t), time.Minute, n)
}

func callersOf(t *testing.T, address string, timeout time.Duration, n int) (list []*Caller) {
	t.Helper()
	s, err := DialShared(t.Context(), address, timeout, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		list = append(list, s.Caller())
	}
	return list
}

// Each caller gets the answers to its own calls, also through refusals and with messages that
// are larger than the windows of the server.
func TestSharedCalls(t *testing.T) {
	var calling sync.WaitGroup
	for i, c := range callers(t, 50) {
		calling.Go(func() {
			defer c.Close()
			for n := range 100 {
				size := 10 + n
				if i == 0 && n%10 == 0 {
					size = 1 << 20
				}
				text := fmt.Appendf(nil, "%d %d ", i, n)
				text = append(text, bytes.Repeat([]byte{'x'}, size)...)
				answer, err := c.Call(methodEcho, value(text), 0)
				if err != nil {
					t.Error(err)
					return
				}
				wantValue(t, answer, text)
				if n%10 > 0 {
					continue
				}
				var refused *StatusError
				if _, err := c.Call(methodEcho, value(nil), 0); !errors.As(err, &refused) || refused.Code != codes.InvalidArgument {
					t.Errorf("an empty value: %v", err)
				}
			}
		})
	}
	calling.Wait()
}

// The last caller who leaves closes the connection.
func TestSharedIsClosed(t *testing.T) {
	list := callers(t, 2)
	list[0].Close()
	if _, err := list[1].Call(methodEcho, value([]byte("x")), 0); err != nil {
		t.Fatal(err)
	}
	list[1].Close()
	if list[1].shared.Caller() != nil {
		t.Error("a closed connection has callers")
	}
	if _, err := list[1].Call(methodEcho, value([]byte("x")), 0); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a call on a closed connection: %v", err)
	}
}

// silentServer accepts a connection and reads it without a word, until the end of the test.
// It allows so little that a larger message waits for room.
func silentServer(t *testing.T) (address string, accepted chan net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted = make(chan net.Conn, 1)
	var serving sync.WaitGroup
	serving.Go(func() {
		conn, err := listener.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		accepted <- conn
		_ = http2.NewFramer(conn, nil).WriteSettings() // callers notice
		for buffer := make([]byte, 4096); err == nil; {
			_, err = conn.Read(buffer)
		}
	})
	t.Cleanup(func() {
		listener.Close()
		serving.Wait()
	})
	return listener.Addr().String(), accepted
}

// All who wait hear that the connection is gone: for an answer, or for room.
func TestSharedBreaks(t *testing.T) {
	address, accepted := silentServer(t)
	var calling sync.WaitGroup
	for i, c := range callersOf(t, address, time.Minute, 10) {
		calling.Go(func() {
			defer c.Close()
			if _, err := c.Call(methodEcho, value(make([]byte, 1+i*10_000)), 0); err == nil {
				t.Error("an answer from nobody")
			}
			if c.shared.Caller() != nil {
				t.Error("a broken connection has callers")
			}
		})
	}
	conn := <-accepted
	conn.Close()
	calling.Wait()
}

// A call that gets no answer ends after its time.
func TestSharedTimeout(t *testing.T) {
	address, _ := silentServer(t)
	c := callersOf(t, address, 10*time.Millisecond, 1)[0]
	defer c.Close()
	if _, err := c.Call(methodEcho, value([]byte("x")), 0); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a call without an answer: %v", err)
	}
}

// A connection on which nobody waits for an answer has no deadline.
func TestSharedIdle(t *testing.T) {
	c := callers(t, 1)[0]
	defer c.Close()
	l := c.shared.link
	for range 3 {
		if _, err := c.Call(methodEcho, value([]byte("x")), 0); err != nil {
			t.Fatal(err)
		}
		if err := l.conn.SetDeadline(time.Now()); err != nil {
			t.Fatal(err)
		}
		for endless := false; !endless; {
			runtime.Gosched()
			l.mu.Lock()
			endless = l.until.IsZero()
			l.mu.Unlock()
		}
	}
}
