package client

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/grpcwire"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/httpwire"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
)

const (
	// benchCredit is how many messages a consumer of the load may hold, the most that the
	// server grants. Their settlements fit into the window of a stream, so that who
	// receives may send them itself.
	benchCredit = 1000
	// benchLives bounds the messages of each client that are sent and not deleted.
	benchLives = 500
	// benchFill is what a queue is filled with unless --count says it.
	benchFill = 100_000
	// benchFillers is how many streams fill a queue, at most.
	benchFillers = 4
)

func benchConsumeCommand(o *options) *cobra.Command {
	f := &benchFlags{}
	c := &cobra.Command{
		Use: "consume", Short: "Fill a queue, then receive and delete all of it",
		Long: "Fill a queue with --count messages, 100000 unless given, then receive and delete all of them, and check order,\n" +
			"loss and duplicates. Only the second part is measured; life is the time from a delivery until its deletion is\n" +
			"confirmed. Without streams each client receives and deletes up to --batch messages with a call each; on a stream\n" +
			"--batch means nothing, and a client holds up to 1000 messages.",
		Example: "  seriatim bench consume --batch 10\n  seriatim bench consume --clients 4 --protocol stream --count 500000",
		Args:    arguments.None,
		PreRunE: func(*cobra.Command, []string) error {
			if f.count == 0 {
				f.count = benchFill
			}
			return f.oneSender()
		},
	}
	c.RunE = o.bench(f, func(r *benchRun) workload { return newConsumeLoad(r, true) })
	f.bind(c, 64)
	// A warm-up would receive what was to be measured.
	f.warmup, c.Flags().Lookup("warmup").DefValue = 0, "0s"
	c.Flags().Lookup("count").Usage = "receive so many messages; 0: " + strconv.Itoa(benchFill)
	f.bindBatch(c, batchSizes)
	f.bindProtocol(c, overHTTP, overStream)
	return c
}

// consumeLoad is fifoLoad over streams, or without its sends, or both.
type consumeLoad struct {
	*fifoLoad
	filled bool // before it is measured; then nothing is sent

	prepare   sync.Once
	consuming context.Context // ends when all is deleted
	stop      context.CancelFunc
	sending   atomic.Int64 // clients that still send
	mu        sync.Mutex
	progress  *sync.Cond // that something was deleted, or the load is over
}

func newConsumeLoad(r *benchRun, filled bool) *consumeLoad {
	l := &consumeLoad{fifoLoad: newFIFOLoad(r).(*fifoLoad), filled: filled}
	l.progress = sync.NewCond(&l.mu)
	l.deliveryBegins, l.breaks = filled, r.flags.protocol == overStream
	if !filled {
		l.sending.Store(int64(r.flags.clients))
	}
	return l
}

// fill sends what is to be consumed.
func (l *consumeLoad) fill(ctx context.Context, r *benchRun) error {
	if !l.filled {
		return nil
	}
	streams := min(benchFillers, r.flags.clients)
	errs := make(chan error, streams) // one of each
	for i := range streams {
		n := r.flags.count / int64(streams)
		if i == 0 {
			n += r.flags.count % int64(streams)
		}
		go func() { errs <- l.fillShare(ctx, r, i, streams, n) }()
	}
	var all error
	for range streams {
		all = errors.Join(all, <-errs)
	}
	if all == nil && l.sent.Load() != r.flags.count {
		all = fmt.Errorf("%d of %s could be sent before the measurement", l.sent.Load(), plural.Count(r.flags.count, "message", "messages"))
	}
	return all
}

// fillShare sends n messages over one of some streams: those of client number and of each client
// that comes so many behind it, as a group has one sender.
func (l *consumeLoad) fillShare(ctx context.Context, r *benchRun, number, streams int, n int64) error {
	c := newBenchClient(r, number)
	s, err := c.openSends(ctx)
	if err != nil {
		return err
	}
	defer s.conn.Close()
	var answering sync.WaitGroup
	answering.Go(func() { s.answers(func(f benchFrame) { l.sent.Add(int64(f.messages)) }) })
	defer answering.Wait()
	at, turn := number, int64(0)
	for n > 0 {
		c.entries = c.entries[:min(int64(cap(c.entries)), n)]
		for i := range c.entries {
			l.compose(r.clients[at], &c.entries[i], turn, time.Time{})
			if at += streams; at >= len(r.clients) {
				at = number
				turn++
			}
		}
		n -= int64(len(c.entries))
		if err := s.send(time.Time{}); err != nil {
			s.conn.Close()
			return err
		}
	}
	if err := s.conn.CloseSend(); err != nil {
		return httpwire.Cut(err)
	}
	<-s.ended
	return s.failure
}

func (l *consumeLoad) work(ctx context.Context, c *benchClient) {
	l.prepare.Do(func() {
		l.consuming, l.stop = context.WithDeadline(ctx, c.run.deadline.Add(finishTime))
		context.AfterFunc(l.consuming, l.wake)
	})
	if c.run.flags.protocol != overStream {
		l.drain(l.consuming, c)
		return
	}
	var consuming sync.WaitGroup
	consuming.Go(func() {
		if err := l.consume(l.consuming, c); err != nil && l.consuming.Err() == nil {
			c.failed(err)
		}
	})
	if !l.filled {
		if err := l.send(l.consuming, c); err != nil && l.consuming.Err() == nil {
			c.failed(err)
		}
		l.sending.Add(-1)
		l.noteDeleted()
	}
	consuming.Wait()
}

// wake has those look again who wait for progress.
func (l *consumeLoad) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.progress.Broadcast()
}

// noteDeleted lets senders go on, and ends the load when all is deleted.
func (l *consumeLoad) noteDeleted() {
	l.wake()
	if l.sending.Load() == 0 && l.deleted.Load() >= l.sent.Load() {
		l.stop()
	}
}

// drain receives and deletes with a call each until nothing is left.
func (l *consumeLoad) drain(ctx context.Context, c *benchClient) {
	lives := make([]fifoLife, 0, c.run.flags.batch)
	for ctx.Err() == nil && l.deleted.Load() < l.sent.Load() {
		if _, err := l.take(ctx, c, c.run.flags.batch, &lives); err != nil {
			return
		}
	}
	l.stop() // the others may be waiting for a message
}

// awaitRoom waits while too many messages are sent and not deleted.
func (l *consumeLoad) awaitRoom(ctx context.Context, c *benchClient) {
	most := int64(c.run.flags.clients) * benchLives
	l.mu.Lock()
	defer l.mu.Unlock()
	for ctx.Err() == nil && l.sent.Load()-l.deleted.Load() >= most {
		l.progress.Wait()
	}
}

// send sends over one stream until the end of the run. A stream that breaks ends it: what became
// of its messages is not known.
func (l *consumeLoad) send(ctx context.Context, c *benchClient) error {
	s, err := c.openSends(ctx)
	if err != nil {
		return err
	}
	defer s.conn.Close()
	var answering sync.WaitGroup
	answering.Go(func() {
		s.answers(func(f benchFrame) { c.measured(benchSend, f.began, time.Now(), 0) })
	})
	defer answering.Wait()
	for turn := int64(0); ctx.Err() == nil; {
		l.awaitRoom(ctx, c)
		began := time.Now()
		if c.run.over(began, c.run.flags.batch) {
			break
		}
		for i := range c.entries {
			l.compose(c, &c.entries[i], turn, began)
			turn++
		}
		l.sent.Add(int64(len(c.entries)))
		c.calls++
		if err := s.send(began); err != nil {
			s.conn.Close()
			return err
		}
	}
	if err := s.conn.CloseSend(); err != nil {
		return httpwire.Cut(err)
	}
	<-s.ended
	return s.failure
}

// benchConsumer is one stream of deliveries. Used by one goroutine.
type benchConsumer struct {
	load      *consumeLoad
	client    *benchClient
	conn      *grpcwire.Conn
	body      []byte // the request under construction
	inner     []byte // and what is in it
	number    uint64 // of the last settlement
	unsettled map[uint64][]fifoLife
}

// consume handles deliveries until the load is over, or the stream breaks.
func (l *consumeLoad) consume(ctx context.Context, c *benchClient) error {
	conn, err := c.dialNative(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.Open(grpcwire.MethodConsume); err != nil {
		return httpwire.Cut(err)
	}
	s := &benchConsumer{load: l, client: c, conn: conn, unsettled: make(map[uint64][]fifoLife)}
	s.inner = grpcwire.Number(grpcwire.Text(s.inner, 1, c.run.queue), 2, benchCredit)
	if err := s.request(1); err != nil {
		return httpwire.Cut(err)
	}
	for {
		answer, err := conn.Receive()
		if err == nil {
			err = grpcwire.Fields(answer, s.answer)
		}
		if err != nil {
			return err
		}
	}
}

// request sends what is in inner, as a kind of request.
func (s *benchConsumer) request(kind protowire.Number) error {
	s.body = grpcwire.Text(grpcwire.Message(s.body), kind, s.inner)
	s.inner = s.inner[:0]
	return s.conn.Send(s.body)
}

// answer deals with what the stream brought.
func (s *benchConsumer) answer(kind protowire.Number, text []byte, _ uint64) error {
	switch kind {
	case 2:
		return s.deliver(text)
	case 3:
		return s.settled(text)
	case 4:
		return &benchRefusal{400, "Lost", "deliveries are not the client's any more"}
	default:
		return nil
	}
}

// settlementMax is how many deliveries a settlement may have.
const settlementMax = 100

// deliver notes the messages of a delivery and acknowledges them.
func (s *benchConsumer) deliver(delivery []byte) error {
	var lives []fifoLife
	err := grpcwire.Fields(delivery, func(field protowire.Number, message []byte, _ uint64) error {
		if field != 1 {
			return nil
		}
		handle, body, err := grpcwire.Delivered(message)
		if err != nil {
			return err
		}
		life, ok := s.load.arrived(s.client.run, body)
		if !ok {
			s.load.foreign.Add(1)
			return nil
		}
		if len(lives) == 0 {
			s.number++
			s.inner = grpcwire.Number(grpcwire.Number(s.inner, 1, s.number), 2, acknowledge)
		}
		s.inner = grpcwire.Text(s.inner, 3, handle)
		if lives = append(lives, life); len(lives) < settlementMax {
			return nil
		}
		s.unsettled[s.number], lives = lives, nil
		return s.request(2)
	})
	if err != nil || len(lives) == 0 {
		return err
	}
	s.unsettled[s.number] = lives
	return s.request(2)
}

// acknowledge is the kind of settlement that deletes.
const acknowledge = 1

// settled takes the answer to a settlement.
func (s *benchConsumer) settled(answer []byte) error {
	number := uint64(0)
	err := grpcwire.Fields(answer, func(field protowire.Number, outcome []byte, value uint64) error {
		if field == 1 {
			number = value
		}
		if field != 2 || len(outcome) == 0 {
			return nil
		}
		return grpcwire.Fields(outcome, func(_ protowire.Number, failure []byte, _ uint64) error {
			reason, message := grpcwire.Failure(failure)
			return &benchRefusal{400, reason, message}
		})
	})
	if err != nil {
		return err
	}
	s.load.ended(s.client, s.unsettled[number])
	delete(s.unsettled, number)
	s.load.noteDeleted()
	return nil
}
