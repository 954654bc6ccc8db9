package sqs

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/transport"
	"github.com/seriatimq/seriatim/transport/aws"
)

// blanks are what a request may carry beside what it says.
var blanks = strings.Repeat(" ", 8<<20-4096)

// keptMax is what many requests may leave behind: less than two of them.
const keptMax = 10 << 20

// heap is how many bytes are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what the first one found in pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// records keeps all records of requests.
type records []*transport.Request

func (r *records) Observe(request *transport.Request) { *r = append(*r, request) }

// TestRecordsKeepNamesOnly: what is noted of a request for metrics and spans does not keep its
// whole text.
func TestRecordsKeepNamesOnly(t *testing.T) {
	f := newFixture(t)
	f.create("q", nil)
	var kept records
	m := transport.Middleware{Logger: slog.New(slog.DiscardHandler), Random: rand.Reader, Now: time.Now, Observer: &kept}
	handler := m.Wrap(f.handler)
	before := heap()
	for range 5 {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(`{"QueueUrl":"q"}`+blanks))
		r.Header.Set("Content-Type", aws.JSONType)
		r.Header.Set("X-Amz-Target", targetPrefix+"GetQueueAttributes")
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if grown := heap() - before; grown > keptMax {
		t.Errorf("%d records keep %d bytes", len(kept), grown)
	}
	runtime.KeepAlive(kept)
}
