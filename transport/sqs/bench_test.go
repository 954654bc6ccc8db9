package sqs

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/service"
)

// answeringNode accepts every send at once, so that only the wire protocol is measured.
type answeringNode struct{}

func (answeringNode) Submit(_ context.Context, cmd queue.Command) (cluster.Reply, error) {
	send := cmd.(*queue.SendMessages)
	return cluster.Reply{
		Result:   queue.MessagesSent{Entries: make([]queue.SentEntry, len(send.Entries))},
		Position: cluster.Position{Index: 1, LogTime: testStart},
	}, nil
}

func (answeringNode) BeginReceive(_ context.Context, _ *queue.ReceiveMessages, _ time.Duration, complete func(cluster.Reply, error)) {
	complete(cluster.Reply{Result: queue.MessagesReceived{}}, nil)
}

func (answeringNode) EncryptsAtRest() bool { return false }

func (answeringNode) ReadLocal(func(queue.View)) {}

func (answeringNode) Access() *access.Table { return nil }

func (answeringNode) Read(context.Context, func(queue.View) error) (cluster.Position, error) {
	return cluster.Position{}, nil
}

// BenchmarkServeSend measures what the service does in a request: parsing, digests, and the answer,
// without network and cluster.
func BenchmarkServeSend(b *testing.B) {
	entry := `"MessageBody":"` + strings.Repeat("x", 256) +
		`","MessageGroupId":"group-17","MessageDeduplicationId":"0d1e7c5a-4f0e-4a58-9d53-1a2b3c4d5e6f"`
	var list []string
	for i := range 10 {
		list = append(list, fmt.Sprintf(`{"Id":"%d",%s}`, i, entry))
	}
	const address = `{"QueueUrl":"http://127.0.0.1:9324/000000000000/orders.fifo",`
	for _, c := range []struct{ name, action, body string }{
		{"one", "SendMessage", address + entry + "}"},
		{"batch", "SendMessageBatch", address + `"Entries":[` + strings.Join(list, ",") + "]}"},
	} {
		b.Run(c.name, func(b *testing.B) {
			handler := aws.NewHandler(aws.Options{
				Backend: service.Backend{Node: answeringNode{}, Names: testNames}, Verifier: sigv4.AcceptAll{},
				Logger: slog.New(slog.DiscardHandler),
			}, New(b.Context(), Options{Node: answeringNode{}, Names: testNames}).API())
			b.ReportAllocs()
			for b.Loop() {
				r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "/", io.NopCloser(strings.NewReader(c.body)))
				if err != nil {
					b.Fatal(err)
				}
				r.ContentLength = int64(len(c.body))
				r.Header.Set("Content-Type", aws.JSONType)
				r.Header.Set("X-Amz-Target", targetPrefix+c.action)
				w := httptest.NewRecorder()
				if handler.ServeHTTP(w, r); w.Code != http.StatusOK {
					b.Fatal(w.Code, w.Body.String())
				}
			}
		})
	}
}
