package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// TestListAtOnce fails if the tool asks for queues one after another.
func TestListAtOnce(t *testing.T) {
	const queues = 10
	list := &seriatimpb.ListQueuesResponse{Account: "000000000000"}
	for i := range queues {
		list.Queues = append(list.Queues, fmt.Sprintf("q%d", i))
	}
	arrived, all := make(chan struct{}, queues), make(chan struct{})
	go func() {
		for range queues {
			<-arrived
		}
		close(all)
	}()
	address, _ := node(t, speaks(func(method string, _ proto.Message) (proto.Message, error) {
		if method == "ListQueues" {
			return list, nil
		}
		arrived <- struct{}{}
		<-all
		return counted("2", "1", "0"), nil
	}))
	got := runTool(t, address, "", "queue", "list")
	if got.err != nil || strings.Count(got.out, "\n") != queues+1 || !strings.Contains(got.out, "q9    standard  2        1") {
		t.Errorf("%v\n%s", got.err, got.out)
	}
}

// TestListMany reads counts from the admin port, and from the client port if that fails.
func TestListMany(t *testing.T) {
	const queues = 2*manyQueues + 1
	var names []string
	for i := range queues {
		names = append(names, fmt.Sprintf("q%05d", i))
	}
	list := &seriatimpb.ListQueuesResponse{Account: "000000000000", Queues: names}
	for _, open := range []bool{true, false} {
		var asked atomic.Int32
		client := speaks(func(method string, _ proto.Message) (proto.Message, error) {
			if method == "ListQueues" {
				return list, nil
			}
			asked.Add(1)
			return counted("2", "1", "0"), nil
		})
		address, _ := node(t, func(w http.ResponseWriter, r *http.Request) {
			text := ""
			switch {
			case r.URL.Path != "/v1/queues":
				client(w, r)
			case !open:
				w.WriteHeader(http.StatusNotFound)
				text = "404 page not found"
			default:
				from := slices.Index(names, r.URL.Query().Get("after")) + 1
				to := min(from+manyQueues, queues)
				page := map[string]any{"queues": []any{}}
				for _, name := range names[from:to] {
					page["queues"] = append(page["queues"].([]any), map[string]any{"name": name, "visible": 2, "inFlight": 1})
				}
				if to < queues {
					page["next"] = names[to-1]
				}
				body, err := json.Marshal(page)
				if err != nil {
					t.Error(err)
				}
				text = string(body)
			}
			_, _ = io.WriteString(w, text)
		})
		got := runTool(t, address, "", "queue", "list")
		if got.err != nil || strings.Count(got.out, "  standard  2        1          0        0\n") != queues ||
			open != (asked.Load() == 0) {
			t.Errorf("admin port open: %t: %v, %d queues asked\n%.300s", open, got.err, asked.Load(), got.out)
		}
	}
}
