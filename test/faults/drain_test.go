package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// TestADrainOfAnIdleClusterEnds: in a cluster that nobody writes to log time stands
// still. A drain that only waited for it would wait for ever, as that of the
// selftest's control did.
func TestADrainOfAnIdleClusterEnds(t *testing.T) {
	var mu sync.Mutex
	written := time.Now() // log time is that of the newest entry
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if action := r.Header.Get("X-Amz-Target"); !strings.HasSuffix(action, ".ReceiveMessage") {
			written = time.Now()
		}
		w.Header().Set(headerIndex, "7")
		w.Header().Set(headerLogTime, fmt.Sprint(written.UnixMilli()))
		_ = json.NewEncoder(w).Encode(struct{}{}) // a client that left needs no answer
	}))
	defer server.Close()

	recorder, err := history.NewRecorder(filepath.Join(t.TempDir(), "history.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	node := &harness.Node{Name: "n1", Client: strings.TrimPrefix(server.URL, "http://")}
	s := &stage{recorder: recorder, cluster: &harness.Cluster{Nodes: []*harness.Node{node}}, rules: history.Rules{Visibility: 1}}
	c := s.newClient(1, "drain")
	defer c.close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c.drain(ctx, "q.fifo")
	events, err := recorder.Close()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Kind == history.KindDrained && e.Queue == "q.fifo" {
			return
		}
	}
	t.Error("the queue was empty for a minute, and the drain did not notice")
}
