package transport

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/http1"
	"github.com/seriatimq/seriatim/transport/limits"
)

// stalledBody is a body that stops before its end.
type stalledBody struct {
	io.Reader
	end <-chan struct{}
}

func (b stalledBody) Read(p []byte) (int, error) {
	if n, err := b.Reader.Read(p); err == nil {
		return n, nil
	}
	<-b.end
	return 0, io.ErrUnexpectedEOF
}

func (stalledBody) Close() error { return nil }

// readAll answers with the body of the request, or with 503 if the budget has no room for the
// request or the answer.
var readAll = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		w.WriteHeader(http.StatusOK)
		_, err = w.Write(body)
	}
	if errors.Is(err, budget.ErrExhausted) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
})

func serve(t *testing.T, h http.Handler, body io.ReadCloser) *httptest.ResponseRecorder {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", body)
	clustertest.Must(t, err)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestNetHTTPIsCounted checks that net/http's requests and answers use the budget, too.
func TestNetHTTPIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(4 << 20)
		h := counted(readAll, b, time.Now)
		whole := func() io.ReadCloser { return io.NopCloser(strings.NewReader(strings.Repeat("x", 1<<20))) }
		end := make(chan struct{})
		var stalled sync.WaitGroup
		for range 10 {
			stalled.Go(func() { serve(t, h, stalledBody{strings.NewReader(strings.Repeat("s", 1<<20-1)), end}) })
			synctest.Wait()
		}
		if used := b.Usage().Used; used > 4<<20 || used < 3<<20 {
			t.Errorf("%d bytes are used", used)
		}
		if got := serve(t, h, whole()).Code; got != http.StatusServiceUnavailable {
			t.Errorf("a large body was answered %d", got)
		}
		if got := serve(t, h, io.NopCloser(strings.NewReader("small"))); got.Code != http.StatusOK || got.Body.String() != "small" {
			t.Errorf("a small body was answered %d %q", got.Code, got.Body)
		}
		close(end)
		stalled.Wait()
		if got := serve(t, h, whole()); got.Code != http.StatusOK || got.Body.Len() != 1<<20 {
			t.Errorf("with room a large body was answered %d", got.Code)
		}
		if used := b.Usage().Used; used != 0 {
			t.Errorf("%d bytes are still used", used)
		}
	})
}

// TestAnswerFindsNoRoom checks that a handler whose answer found no room can write another one.
func TestAnswerFindsNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(4 << 20)
		clustertest.Must(t, b.Acquire(t.Context(), 4<<20, 0))
		h := counted(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Body = http1.NewBody(make([]byte, 1<<20), nil)
			readAll(w, r)
		}), b, time.Now)
		if got := serve(t, h, http.NoBody); got.Code != http.StatusServiceUnavailable || got.Body.Len() != 0 {
			t.Errorf("answered %d with %d bytes", got.Code, got.Body.Len())
		}
		b.Release(4 << 20)
		if got := serve(t, h, http.NoBody); got.Code != http.StatusOK || !bytes.Equal(got.Body.Bytes(), make([]byte, 1<<20)) {
			t.Errorf("answered %d with %d bytes", got.Code, got.Body.Len())
		}
	})
}

// TestBodyTooLarge checks the error that the handler gets.
func TestBodyTooLarge(t *testing.T) {
	b := budget.New(64 << 20)
	h := counted(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var tooLarge *http.MaxBytesError
		if _, err := io.ReadAll(r.Body); !errors.As(err, &tooLarge) {
			t.Errorf("got %v", err)
		}
	}), b, time.Now)
	serve(t, h, io.NopCloser(bytes.NewReader(make([]byte, limits.BodyBytesMax+1))))
}
