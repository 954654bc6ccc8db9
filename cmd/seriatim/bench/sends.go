package bench

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seriatimq/seriatim/transport/grpc/client"
)

// inFlightMax bounds the messages of a stream without an answer.
const inFlightMax = 1000

type sends struct {
	run      *run
	before   int64 // messages in an existing queue
	fresh    atomic.Int64
	repeated atomic.Int64
	accepted atomic.Int64 // repeats answered with another message id
	dropped  atomic.Int64 // new ids answered with the message id of another id
	unknown  atomic.Int64 // new ids without an answer
}

func newSends(r *run) job { return &sends{run: r} }

func (s *sends) fill(ctx context.Context) (err error) {
	if s.run.Existing && s.run.Repeat > 0 {
		s.before, err = s.run.held(ctx)
	}
	return err
}

func (s *sends) work(ctx context.Context, w *worker) {
	switch {
	case s.run.Protocol == Stream:
		s.stream(ctx, w)
		return
	case s.run.Repeat > 0:
		s.repeat(ctx, w)
		return
	}
	messages := make([]message, s.run.Batch)
	for n := int64(0); ctx.Err() == nil; {
		due := w.awaitTurn(ctx, n)
		began := time.Now()
		if s.run.over(began, s.run.Batch) {
			return
		}
		for i := range messages {
			messages[i] = w.compose(w.groupOf(n), n, began)
			n++
		}
		w.calls++
		if _, err := w.send(ctx, messages); err == nil {
			w.measured("send", due, time.Now(), s.run.Batch)
		} else if ctx.Err() == nil {
			w.failed(err)
			pause(ctx, failurePause)
		}
	}
}

// stream sends messages without waiting for the answers to earlier ones.
func (s *sends) stream(ctx context.Context, w *worker) {
	type sent struct {
		*client.Sent
		due time.Time
	}
	sender := w.caller.(*nativeCaller).client.NewSender(ctx, s.run.Queue)
	inFlight := make(chan sent, inFlightMax)
	var answering sync.WaitGroup
	answering.Go(func() {
		for m := range inFlight {
			if _, err := m.Wait(ctx); err == nil {
				w.measured("send", m.due, time.Now(), 1)
			} else if ctx.Err() == nil {
				w.failed(err)
				pause(ctx, failurePause)
			}
		}
	})
	for n := int64(0); ctx.Err() == nil; n++ {
		due := w.awaitTurn(ctx, n)
		began := time.Now()
		if s.run.over(began, 1) {
			break
		}
		m := w.compose(w.groupOf(n), n, began)
		w.calls++
		one, err := sender.Send(ctx, outgoing(&m))
		if err != nil {
			break // ctx has ended
		}
		inFlight <- sent{one, due}
	}
	close(inFlight)
	sender.Close()
	answering.Wait()
}

// earlier is an id with the message id in its first answer.
type earlier struct {
	number    int64
	messageID string
}

// historyMax bounds the ids from which a client chooses repeats: the first and the latest ones, so
// that ids of all ages repeat.
const historyMax = 4096

// repeat sends some ids again.
func (s *sends) repeat(ctx context.Context, w *worker) {
	ctx, cancel := context.WithDeadline(ctx, s.run.deadline.Add(finishTime))
	defer cancel()
	random := rand.New(rand.NewPCG(uint64(w.number), uint64(s.run.started.UnixNano()))) //nolint:gosec // no secret
	var history []earlier
	next := int64(0)
	messages, repeats := make([]message, s.run.Batch), make([]*earlier, s.run.Batch)
	for ctx.Err() == nil && !s.run.over(time.Now(), s.run.Batch) {
		began, first := time.Now(), next
		for i := range messages {
			n := next
			if repeats[i] = nil; len(history) > 0 && random.IntN(100) < s.run.Repeat {
				repeats[i] = &history[random.IntN(len(history))]
				n = repeats[i].number
			} else {
				next++
			}
			messages[i] = w.compose(w.groupOf(n), n, began)
		}
		err := w.insist(ctx, func() error {
			at := time.Now()
			ids, err := w.send(ctx, messages)
			if err == nil {
				w.measured("send", at, time.Now(), s.run.Batch)
				history = s.compare(history, ids, repeats, first)
			}
			return err
		})
		if err != nil {
			s.unknown.Add(next - first)
			return
		}
	}
}

// compare checks the message ids of an answer. It returns the history with the new ids, which are
// numbered from next.
func (s *sends) compare(history []earlier, ids []string, repeats []*earlier, next int64) []earlier {
	seen := make(map[string]bool, len(ids))
	var added []earlier
	for i, id := range ids {
		if repeats[i] != nil {
			s.repeated.Add(1)
			if repeats[i].messageID != id {
				s.accepted.Add(1)
			}
			continue
		}
		s.fresh.Add(1)
		if seen[id] {
			s.dropped.Add(1)
		}
		seen[id] = true
		added = append(added, earlier{next, id})
		next++
	}
	for _, e := range added {
		if len(history) < historyMax {
			history = append(history, e)
		} else {
			history[historyMax/2+e.number%(historyMax/2)] = e
		}
	}
	return history
}

func (s *sends) finish(ctx context.Context, report *Report) error {
	if s.run.Repeat == 0 {
		return nil
	}
	report.check("ids sent once or first", s.fresh.Load(), false)
	report.check("ids repeated", s.repeated.Load(), false)
	report.check("repeats answered with another message id", s.accepted.Load(), true)
	report.check("new ids answered with a message id of their batch", s.dropped.Load(), true)
	report.check("new ids whose sends were never answered", s.unknown.Load(), false)
	held, err := s.run.held(ctx)
	if err != nil {
		return err
	}
	more := held - s.before - s.fresh.Load()
	report.check("messages in the queue more than ids (negative: fewer)", more-min(max(more, 0), s.unknown.Load()), true)
	return nil
}
