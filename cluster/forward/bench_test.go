package forward

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/test/bufconn"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/peerpb"
	"github.com/seriatimq/seriatim/fsm/format"
)

// BenchmarkForward is a forwarded command's way to the leader's group committer and
// back, over a connection in memory, with 64 callers.
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
	running.Go(func() { _ = server.ServeGRPC(listener) }) // ends with Close
	defer server.Close(ctx)
	defer cancel()
	link := NewLink(ctx, &running, LinkOptions{
		Self: "self", NodeID: "leader", Group: testGroup, Limits: leader.Limits{}.WithDefaults(), Log: slog.New(slog.DiscardHandler),
		Leads:  func() (string, <-chan struct{}) { return "leader", nil },
		Silent: func() {}, Silence: time.Second,
		Connect: func(ctx context.Context, nodeID string) (Stream, func() error, error) {
			return Connect(ctx, nodeID, listener.DialContext, time.Minute)
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

// BenchmarkFrame encodes and decodes a frame of 16 requests, by hand and with
// the generated code.
func BenchmarkFrame(b *testing.B) {
	frame := &peerpb.RequestFrame{LeaderId: "n1-0011aabb", SenderId: "n2-0011aabb"}
	for i := range uint64(16) {
		frame.Requests = append(frame.Requests, &peerpb.Request{
			Id: 100 + i, Kind: Submit, Term: 5, Command: clustertest.EncodedSend(b), MinimumVersion: 1, BudgetMillis: 10_000,
		})
	}
	for _, c := range []struct {
		name  string
		codec interface {
			Marshal(any) (mem.BufferSlice, error)
			Unmarshal(mem.BufferSlice, any) error
		}
	}{{"by-hand", newFrameCodec()}, {"generated", newFrameCodec().CodecV2}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				data, err := c.codec.Marshal(frame)
				if err != nil {
					b.Fatal(err)
				}
				if err := c.codec.Unmarshal(data, &peerpb.RequestFrame{}); err != nil {
					b.Fatal(err)
				}
				data.Free()
			}
		})
	}
}
