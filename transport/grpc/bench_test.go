package grpc

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/service"
)

// answeringNode accepts every send at once, so that only the wire protocol is measured.
type answeringNode struct{ *cluster.Node }

func (answeringNode) Submit(_ context.Context, cmd queue.Command) (cluster.Reply, error) {
	send := cmd.(*queue.SendMessages)
	return cluster.Reply{
		Result:   queue.MessagesSent{Entries: make([]queue.SentEntry, len(send.Entries))},
		Position: cluster.Position{Index: 1, LogTime: 1},
	}, nil
}

// trailerRecorder accepts trailers like the answers of package http2.
type trailerRecorder struct {
	*httptest.ResponseRecorder
	status string
}

func (r *trailerRecorder) AddTrailer(name, value string) {
	if name == trailerStatus {
		r.status = value
	}
}

// BenchmarkServeSend measures what the service does in a call, without network and cluster.
func BenchmarkServeSend(b *testing.B) {
	logger := slog.New(slog.DiscardHandler)
	server := New(b.Context(), Options{
		Node: answeringNode{node}, Verifier: sigv4.AcceptAll{}, Names: service.Names{Account: "000000000000", Region: "us-east-1"},
		Calls:  &service.Calls{Logger: logger, Random: rand.Reader, Now: time.Now},
		Random: rand.Reader, Now: time.Now, Logger: logger,
	})
	group, id := "group-17", "0d1e7c5a-4f0e-4a58-9d53-1a2b3c4d5e6f"
	message, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, prefixBytes), &seriatimpb.SendRequest{
		Queue: "orders.fifo", Messages: []*seriatimpb.OutgoingMessage{{Body: strings.Repeat("x", 256), GroupId: &group,
			DeduplicationId: &id}},
	})
	if err != nil {
		b.Fatal(err)
	}
	binary.BigEndian.PutUint32(message[1:], uint32(len(message)-prefixBytes))
	b.ReportAllocs()
	for b.Loop() {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, seriatimpb.Queues_Send_FullMethodName,
			io.NopCloser(strings.NewReader(string(message))))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Content-Type", contentType)
		w := &trailerRecorder{ResponseRecorder: httptest.NewRecorder()}
		if server.ServeHTTP(w, r); w.status != "0" {
			b.Fatal(w.status, w.Header())
		}
	}
}
