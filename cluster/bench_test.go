package cluster

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/test/bufconn"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/peerpb"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/queue"
)

// benchSend is a send of 256 bytes, encoded.
func benchSend(b *testing.B) []byte {
	b.Helper()
	frame, err := fsm.AppendCommand(nil, &queue.SendMessages{Queue: "orders.fifo", SenderID: "AIDAEXAMPLE", Entries: []queue.SendEntry{{
		Body: string(make([]byte, 256)), GroupID: "group-17", GroupIDGiven: true,
		DeduplicationID: "0d1e7c5a-4f0e-4a58-9d53-1a2b3c4d5e6f", DeduplicationIDGiven: true,
	}}})
	if err != nil {
		b.Fatal(err)
	}
	return frame
}

// instantLog commits at once.
type instantLog struct{ index uint64 }

func (l *instantLog) propose(entry []byte) (func() (fsm.EntryResult, error), error) {
	l.index++
	result := fsm.EntryResult{Index: l.index}
	_, err := fsm.DecodeEntry(entry, func([]byte) error {
		result.Responses = append(result.Responses, fsm.Response{Result: queue.Done{}})
		return nil
	})
	return func() (fsm.EntryResult, error) { return result, nil }, err
}

// BenchmarkCommitter is a command's way through the group committer over a log
// that costs nothing, with 64 callers.
func BenchmarkCommitter(b *testing.B) {
	log, clock := &instantLog{}, clustertest.NewHandClock(1000)
	c := newCommitter(committerConfig{
		propose: log.propose, stamp: func() queue.Timestamp { return 1000 }, monotonic: clock.Monotonic,
		formatVersion: func() uint32 { return fsm.CurrentVersion }, limits: RequestLimits{}.withDefaults(), counts: newCounters(),
	})
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { c.run(ctx) })
	defer running.Wait()
	defer cancel()
	c.open()
	frame := benchSend(b)
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		done := make(chan outcome, 1)
		for pb.Next() {
			c.submit(&submission{frame: frame, settle: func(o outcome) { done <- o }})
			if o := <-done; o.verdict != answered {
				b.Error(o.verdict)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/float64(log.index), "commands/entry")
}

// BenchmarkForward is a forwarded command's way to the leader's committer and
// back, over a connection in memory, with 64 callers.
func BenchmarkForward(b *testing.B) {
	log, clock := &instantLog{}, clustertest.NewHandClock(1000)
	c := newCommitter(committerConfig{
		propose: log.propose, stamp: func() queue.Timestamp { return 1000 }, monotonic: clock.Monotonic,
		formatVersion: func() uint32 { return fsm.CurrentVersion }, limits: RequestLimits{}.withDefaults(), counts: newCounters(),
	})
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { c.run(ctx) })
	c.open()
	leads := &tenure{landlord: landlord{term: 5}, committer: c, polls: newPolls(1)}
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(grpc.ForceServerCodecV2(newFrameCodec()), grpc.InitialWindowSize(streamWindow), grpc.InitialConnWindowSize(streamWindow))
	peerpb.RegisterPeerServer(server, &peerServer{
		nodeID: "leader", tenure: func() *tenure { return leads }, monotonic: clock.Monotonic,
		counts: newCounters(), log: slog.New(slog.DiscardHandler), closing: make(chan struct{}), newest: make(map[string]*inbound),
	})
	running.Go(func() { _ = server.Serve(listener) }) // ends with Stop
	defer server.Stop()
	link := newLink(ctx, &running, "self", "leader", func(ctx context.Context, _ string) (forwardStream, func() error, error) {
		conn, err := grpc.NewClient("passthrough:///leader", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
			grpc.WithDefaultCallOptions(grpc.ForceCodecV2(newFrameCodec())),
			grpc.WithInitialWindowSize(streamWindow), grpc.WithInitialConnWindowSize(streamWindow))
		if err != nil {
			return nil, nil, err
		}
		stream, err := peerpb.NewPeerClient(conn).Forward(ctx)
		return stream, conn.Close, err
	}, RequestLimits{}.withDefaults(), slog.New(slog.DiscardHandler))
	frame := benchSend(b)
	leader := func() (string, <-chan struct{}) { return "leader", nil }
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			o := link.call(ctx, &peerpb.Request{Kind: submitRequest, Term: 5, Command: frame, BudgetMillis: 10_000}, leader, nil)
			if o.verdict != answered {
				b.Error(o.verdict)
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
			Id: 100 + i, Kind: submitRequest, Term: 5, Command: benchSend(b), MinimumVersion: 1, BudgetMillis: 10_000,
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
