package forward

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/peerpb"
	"github.com/seriatimq/seriatim/fsm/format"
)

// BenchmarkForward measures a forwarded command through the leader's group committer, over a
// connection in memory, with 64 callers.
func BenchmarkForward(b *testing.B) {
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	group := &stubGroup{ready: make(chan struct{})}
	close(group.ready)
	term := startTerm(b, group, format.CurrentVersion)
	listener := bufconn.Listen(1 << 20)
	server := NewServer(ServerOptions{
		NodeID: "leader", Group: testGroup, Term: func() *leader.Term { return term },
		Monotonic: clustertest.NewHandClock(1000).Monotonic, Log: slog.New(slog.DiscardHandler),
	})
	running.Go(func() { server.Serve(ctx, listener) }) // ends with Close
	defer server.Close(ctx)
	defer cancel()
	link := NewLink(ctx, &running, LinkOptions{
		Self: "self", NodeID: "leader", Group: testGroup, Limits: leader.Limits{}.WithDefaults(), Log: slog.New(slog.DiscardHandler),
		Leads:  func() (string, <-chan struct{}) { return "leader", nil },
		Silent: func() {}, Silence: time.Second,
		Connect: func(ctx context.Context, _ string) (Stream, error) {
			conn, err := listener.DialContext(ctx)
			if err != nil {
				return nil, err
			}
			return NewFramedStream(ctx, conn), nil
		},
	})
	request := Request{Request: leader.Request{Frame: clustertest.EncodedSend(b)}, Kind: Submit, Term: 5, Budget: 10 * time.Second}
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			o := link.Call(ctx, request)
			if o.Verdict != leader.Answered {
				b.Error(o.Verdict)
				return
			}
		}
	})
}

// BenchmarkFrame encodes and decodes a frame of 16 requests.
func BenchmarkFrame(b *testing.B) {
	frame := &peerpb.RequestFrame{LeaderId: "n1-0011aabb", SenderId: "n2-0011aabb"}
	for i := range uint64(16) {
		frame.Requests = append(frame.Requests, &peerpb.Request{
			Id: 100 + i, Kind: Submit, Term: 5, Command: clustertest.EncodedSend(b), MinimumVersion: 1, BudgetMillis: 10_000,
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		data, err := appendFrame(nil, frame)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := decodeRequests(data); err != nil {
			b.Fatal(err)
		}
	}
}
