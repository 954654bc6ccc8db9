package http1

import (
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// suspending suspends each request until release is closed or its context ends, and then answers
// with its body.
func suspending(t *testing.T, release <-chan struct{}) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		resume, ok := Suspend(w, func() { _, _ = w.Write(body) })
		if !ok {
			t.Error("not suspended")
			return
		}
		switch string(body) {
		case "at once":
			resume()
		case "panic":
			panic("planned")
		default:
			ctx := r.Context()
			go func() { // ends with the request
				select {
				case <-release:
				case <-ctx.Done():
				}
				resume()
			}()
		}
	})
}

// A connection with a suspended request has no goroutine. The request is answered once it resumes,
// and after it the request that the client sent meanwhile.
func TestSuspendedRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := newServer(t, Config{Handler: suspending(t, release)})
		conn, reader := dial(t, s)
		for range 3 {
			write(t, conn, post("at once"))
			wantAnswer(t, reader, http.StatusOK, "at once")
		}
		write(t, conn, post("later"))
		written := make(chan struct{})
		go func() { // written when the server reads the pipe
			_, _ = io.WriteString(conn, post("at once"))
			close(written)
		}()
		time.Sleep(19 * time.Second)
		close(release)
		wantAnswer(t, reader, http.StatusOK, "later")
		wantAnswer(t, reader, http.StatusOK, "at once")
		<-written
		_ = conn.Close()
	})
}

func TestPanicAfterSuspending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{Handler: suspending(t, nil)})
		conn, reader := dial(t, s)
		write(t, conn, post("panic"))
		wantClosed(t, reader, 0)
		s.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			resume, _ := Suspend(w, func() { panic("planned") })
			go resume()
		})
		conn, reader = dial(t, s)
		write(t, conn, post("x"))
		wantClosed(t, reader, 0)
	})
}

// Shutdown waits for suspended requests and ends them when its context ends.
func TestShutdownWhileSuspended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := newServer(t, Config{Handler: suspending(t, release)})
		conn, reader := dial(t, s)
		write(t, conn, post("answered"))
		synctest.Wait()
		ended := make(chan error, 1)
		go func() { ended <- s.Shutdown(t.Context()) }()
		synctest.Wait()
		close(release)
		if response := wantAnswer(t, reader, http.StatusOK, "answered"); !response.Close {
			t.Error("the connection is to be used again")
		}
		clustertest.Check(t, <-ended)

		s = newServer(t, Config{Handler: suspending(t, nil)})
		conn, reader = dial(t, s)
		write(t, conn, post("cut off"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err == nil {
			t.Error("all requests have ended")
		}
		wantClosed(t, reader, 0)
		<-s.Ended()
	})
}

// Departures of clients are noticed while their requests are suspended.
func TestDeparturesWhileSuspended(t *testing.T) {
	const clients = 60
	left := make(chan string, clients)
	waiting := make(chan struct{}, clients)
	w := newWaiters(t, nil, clients)
	w.Handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		ctx := r.Context()
		resume, _ := Suspend(out, func() {
			left <- string(body)
			_, _ = out.Write(body)
		})
		context.AfterFunc(ctx, resume)
		waiting <- struct{}{}
	})
	before := runtime.NumGoroutine()
	var conns []net.Conn
	for i := range clients {
		conn, _ := w.client(t, nil, strings.Repeat("x", i+1))
		conns = append(conns, conn)
	}
	for range clients {
		<-waiting
	}
	w.awaitWatched(t, clients)
	if more := runtime.NumGoroutine() - before; more > clients/4 {
		t.Errorf("%d goroutines for %d clients that wait", more, clients)
	}
	for i, conn := range conns {
		_ = conn.Close()
		if got := <-left; len(got) != i+1 {
			t.Errorf("client %d left, and the request of another one ended: %d", i, len(got)-1)
		}
	}
}
