package client

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// What a queue lost, has twice or has in another order is counted.
func TestFanOutCountsWrong(t *testing.T) {
	for _, c := range []struct {
		name, held string // numbers of client 0, who published three messages
		wrong      int
	}{
		{"as published", "0 1 2", 0},
		{"the first is lost", "1 2", 1},
		{"the last is lost", "0 1", 1},
		{"one comes twice", "0 1 1 2", 1},
		{"two are exchanged", "1 0 2", 3},
		{"nothing came", "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			received := false
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var messages []string
				if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "ReceiveMessage") && !received {
					received = true
					for number := range strings.FieldsSeq(c.held) {
						messages = append(messages, fmt.Sprintf(`{"Body":"0 %s xx","ReceiptHandle":"h"}`, number))
					}
				}
				fmt.Fprintf(w, `{"Messages":[%s]}`, strings.Join(messages, ","))
			}))
			defer server.Close()
			r := &fanOutRun{clients: 1, next: []int{3}, wire: &wire{
				client: &port{addresses: []string{server.URL}}, timeout: time.Minute, http: server.Client(),
			}}
			wrong, err := r.drainQueue(t.Context(), server.URL+"/000000000000/q.fifo")
			if err != nil || wrong != c.wrong {
				t.Errorf("%d are wrong, want %d; %v", wrong, c.wrong, err)
			}
		})
	}
}

// A publish that is made again is counted, and a server that refuses is not asked without a pause.
func TestFanOutRepeats(t *testing.T) {
	refusals := 3
	address, asked := node(t, func(w http.ResponseWriter, _ *http.Request) {
		if refusals--; refusals >= 0 {
			says(503, `{"Error":{"Code":"ServiceUnavailable","Message":"no leader"}}`)(w, nil)
			return
		}
		_, _ = io.WriteString(w, `{"PublishBatchResponse":{"PublishBatchResult":{}}}`)
	})
	r := &fanOutRun{clients: 1, batch: 1, next: []int{0}, topic: "t.fifo", wire: &wire{
		client: &port{addresses: []string{address}}, timeout: time.Minute, http: http.DefaultClient,
	}}
	began := time.Now()
	if err := r.publishOnce(t.Context(), 0); err != nil || asked.Load() != 4 || r.repeated.Load() != 3 {
		t.Errorf("asked %d times, of which %d are counted as repetitions: %v", asked.Load(), r.repeated.Load(), err)
	}
	if took := time.Since(began); took < 3*benchPause {
		t.Errorf("four tries took %v", took)
	}
}

// A queue that cannot be deleted keeps no others from going.
func TestFanOutLeavesNothing(t *testing.T) {
	var deleted atomic.Int32
	address, _ := node(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Amz-Target") == "" {
			says(200, `{"DeleteTopicResponse":{}}`)(w, r)
		} else if deleted.Add(1) == 1 {
			says(500, `{"message":"no"}`)(w, r)
		}
	})
	r := &fanOutRun{topic: "t.fifo", urls: make([]string, 200), wire: &wire{client: &port{addresses: []string{address}}, timeout: time.Minute, http: &http.Client{}}}
	for i := range r.urls {
		r.urls[i] = "http://h/1/q" + strconv.Itoa(i)
	}
	if err := r.remove(t.Context()); exit.CodeOf(err) != exit.Failed || deleted.Load() != 200 {
		t.Errorf("%d deletions were asked for, want 200; %v", deleted.Load(), err)
	}
}
