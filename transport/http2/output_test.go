package http2

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	frame "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// writes is a connection whose writes succeed at once, as if the kernel had buffered them.
type writes struct {
	net.Conn
	mu  sync.Mutex
	n   int
	all bytes.Buffer
}

func (w *writes) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
	return w.all.Write(b)
}

// taken returns the number of writes and the written bytes.
func (w *writes) taken() (n int, all []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, all = w.n, bytes.Clone(w.all.Bytes())
	w.n = 0
	w.all.Reset()
	return n, all
}

// On one processor, requests that arrive together are read at once, and answers that are ready at
// the same time are sent in few writes.
func TestAnswersLeaveTogether(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		const calls = 100
		commit := make(chan struct{}) // closed, never sent on
		here, there := net.Pipe()
		w := &writes{Conn: there}
		s := New(t.Context(), Config{
			Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-commit }), Now: time.Now,
			Logger: slog.New(slog.DiscardHandler),
		})
		s.Serve(w)
		var request, block bytes.Buffer
		coder, out := hpack.NewEncoder(&block), frame.NewFramer(&request, nil)
		request.WriteString(frame.ClientPreface)
		failed := out.WriteSettings()
		for i := range uint32(calls) {
			block.Reset()
			for _, f := range []hpack.HeaderField{{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "http"},
				{Name: ":path", Value: "/"}, {Name: "padding", Value: string(bytes.Repeat([]byte{'x'}, 100+int(i)))}} {
				f.Sensitive = true // no table, so that the block stays small
				_ = coder.WriteField(f)
			}
			if err := out.WriteHeaders(frame.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: block.Bytes(), EndStream: true,
				EndHeaders: true}); err != nil {
				failed = err
			}
		}
		if _, err := here.Write(request.Bytes()); err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		synctest.Wait()
		w.taken()
		close(commit)
		synctest.Wait()
		n, all := w.taken()
		ended, in := 0, frame.NewFramer(nil, bytes.NewReader(all))
		for f, err := in.ReadFrame(); err == nil; f, err = in.ReadFrame() {
			if f.Header().Flags.Has(frame.FlagDataEndStream) {
				ended++
			}
		}
		if ended != calls || n > calls/4 {
			t.Errorf("%d answers in %d writes, want %d in a few", ended, n, calls)
		}
		_ = here.Close()
		clustertest.Check(t, s.Shutdown(context.Background()))
	})
}
