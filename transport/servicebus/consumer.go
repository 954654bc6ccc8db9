package servicebus

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/transport/amqp"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/service"
)

const (
	// receiveWait bounds one receive.
	receiveWait = limits.WaitSecondsMax * time.Second
	// pauses after a receive that failed.
	pauseMin = 50 * time.Millisecond
	pauseMax = 2 * time.Second
)

// acceptReceiver accepts a link whose client receives.
func (a *attachment) acceptReceiver(at *address, f found, caller auth.Identity) error {
	of, s := a.connection, a.connection.server
	drained := s.waits.Context()
	if drained.Err() != nil {
		return errDraining
	}
	filter, inSession := sessionFilter(a.request.Source.Filter)
	if err := checkSessions(&f, at, inSession); err != nil {
		return err
	}
	k := &consumer{
		deletes: a.request.Attach.SenderMode.Or(wire.SenderMixed) == wire.SenderSettled,
		call:    of.begin(of.ctx, "ReceiveLink", toReceive, service.Changes, caller),
	}
	k.link = link{call: k.call, connection: of, path: at.claimed()}
	k.settler.consumer = k
	k.receiving, k.stop = context.WithCancel(k.call.ctx)
	err := k.call.on(f.resource, toReceive)
	if err == nil && k.deletes {
		err = k.call.permits(toDelete)
	}
	var answer amqp.Answer
	if err == nil && inSession {
		answer, err = k.acceptSession(a, filter, drained)
	}
	if err != nil {
		k.stop()
		k.call.end(err)
		return err
	}
	return a.startReceiver(k, answer, drained)
}

// startReceiver answers the attach, and begins to receive if the client has given credit already.
func (a *attachment) startReceiver(k *consumer, answer amqp.Answer, drained context.Context) error {
	k.mu.Lock()
	sender := a.request.Send(k, answer)
	if sender == nil {
		k.mu.Unlock()
		k.Ended(nil)
		return nil
	}
	k.sender, k.link.detach = sender, sender.Detach
	k.mu.Unlock()
	k.link.connection.add(&k.link)
	end := context.AfterFunc(drained, func() { sender.Detach(errDraining) })
	context.AfterFunc(k.receiving, func() { end() })
	k.watchLock()
	k.Flow(sender)
	return nil
}

// consumer handles a link whose client receives. Safe for concurrent use.
type consumer struct {
	link      link
	call      *call
	sender    *amqp.Sender
	deletes   bool            // messages are deleted when they are received
	session   *heldSession    // nil: none
	receiving context.Context // ends with the link
	stop      context.CancelFunc
	settler   settler
	loops     sync.WaitGroup // receiveAll

	mu       sync.Mutex
	running  bool               // receive runs
	again    bool               // Flow was called since receive looked
	room     int                // the largest number of messages of the receive in progress
	endWait  context.CancelFunc // of the receive in progress; nil: none
	backlog  []*amqp.Message    // received, without room in the connection
	attempt  string             // of the next receive
	repeated bool               // the outcome of the last receive is unknown
}

// Flow continues to receive.
func (k *consumer) Flow(*amqp.Sender) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.again = true
	switch {
	case k.sender == nil: // startReceiver calls Flow
	case !k.running:
		k.running = true
		k.loops.Go(k.receiveAll)
	case k.endWait != nil && (k.sender.Draining() || int(k.sender.Credit()) < k.room):
		k.endWait() // it might receive what the client does not take
	}
}

// Ended ends the link. The locks of its messages last on, except in a session.
func (k *consumer) Ended(err *wire.Error) {
	k.stop()
	k.call.server.work.Go(func() {
		k.loops.Wait()
		k.mu.Lock()
		backlog := k.backlog
		k.backlog = nil
		k.mu.Unlock()
		k.giveBack(backlog)
		k.releaseSession()
		k.link.close(err)
	})
}

// receiveAll receives while the client has credit.
func (k *consumer) receiveAll() {
	pause := pauseMin
	for {
		room, wait, ok := k.next()
		if !ok {
			return
		}
		err := k.call.permits(toReceive)
		if err == nil {
			err = k.receive(room, wait)
		}
		if err == nil {
			pause = pauseMin
			continue
		}
		if of, temporary := k.classify(err); !temporary {
			k.sender.Detach(of)
			k.stop()
			continue
		}
		select {
		case <-time.After(pause):
		case <-k.receiving.Done():
		}
		pause = min(2*pause, pauseMax)
	}
}

// classify returns the error that detaches the link, or temporary.
func (k *consumer) classify(err error) (of *wire.Error, temporary bool) {
	of, certain := k.call.server.errorOf(err)
	return of, !certain && of.Condition != internalError || of.Condition == serverBusy
}

// next returns the number of messages to receive and how long to wait for them. It reports false if
// there is nothing to do until the next Flow.
func (k *consumer) next() (room int, wait time.Duration, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for {
		k.again = false
		if k.receiving.Err() == nil && k.sendBacklog() {
			room, wait = int(k.sender.Credit()), receiveWait
			if k.sender.Draining() {
				wait = 0
			}
			if room > 0 {
				return min(room, limits.StreamEntriesMax), wait, true
			}
			if wait == 0 {
				k.sender.Drained()
			}
		}
		if !k.again {
			k.running = false
			return 0, 0, false
		}
	}
}

// sendBacklog sends messages that had no room, and reports whether none is left. It needs the mutex.
func (k *consumer) sendBacklog() bool {
	for len(k.backlog) > 0 {
		if k.sender.Send(*k.backlog[0]) == nil {
			return false
		}
		k.backlog = k.backlog[1:]
	}
	k.backlog = nil
	return true
}

// receive receives once. Without a message it waits.
func (k *consumer) receive(room int, wait time.Duration) error {
	ctx, cancel := context.WithCancel(k.receiving)
	defer cancel()
	cmd, seconds, err := k.command(room)
	if err != nil {
		return err
	}
	k.mu.Lock()
	if k.endWait, k.room = cancel, room; k.again && (k.sender.Draining() || int(k.sender.Credit()) < room) {
		k.endWait = nil
		k.mu.Unlock()
		return nil
	}
	k.mu.Unlock()
	received, reply, err := resultOf[queue.MessagesReceived](k.call.server.Node.Receive(ctx, cmd, wait))
	k.mu.Lock()
	k.endWait = nil
	k.mu.Unlock()
	if err != nil {
		return k.receiveFailed(ctx, err)
	}
	if len(received.Messages) > 0 {
		k.attempt = "" // an empty receive stores no attempt, so its id can be used again
	}
	if err := k.deliver(received.Messages, reply, seconds); err != nil {
		return err
	}
	if wait == 0 && len(received.Messages) == 0 {
		k.sender.Drained()
	}
	return nil
}

// receiveFailed handles the error of a receive. The next one repeats its attempt, if it has one.
func (k *consumer) receiveFailed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		k.repeated = true
		return nil // Flow or the end of the link has ended the wait
	}
	var refused *queue.Error
	if errors.As(err, &refused) && k.attempt != "" && k.repeated {
		k.attempt, k.repeated = "", false // the messages of the attempt are gone
		return nil
	}
	k.repeated = true
	return err
}

// command returns the next receive, and the seconds of its locks.
func (k *consumer) command(room int) (cmd *queue.ReceiveMessages, seconds int64, err error) {
	cmd = &queue.ReceiveMessages{Queue: k.call.queue, MaxMessages: queue.Some(int64(room)), Streamed: true}
	if !k.deletes && k.attempt == "" {
		if k.attempt, err = service.NewAttemptID(k.call.server.Random); err != nil {
			return nil, 0, err
		}
		k.repeated = false
	}
	if !k.deletes {
		cmd.AttemptID, cmd.AttemptIDGiven = k.attempt, true
	}
	if k.session != nil || k.deletes {
		cmd.Options = &queue.ReceiveOptions{Session: k.sessionRef(), Delete: k.deletes}
	}
	if k.session != nil {
		return cmd, 0, nil
	}
	k.call.server.Node.ReadLocal(func(v queue.View) {
		if attributes, refused := v.Typed(k.call.queue); refused == nil {
			seconds = attributes.VisibilitySeconds
		}
	})
	seconds = max(seconds, 1)
	cmd.VisibilityTimeout = queue.Some(seconds)
	return cmd, seconds, nil
}

// held is a message whose outcome is open.
type held struct{ token string }

// deliver sends received messages. Those for which the client has no credit any more become visible.
func (k *consumer) deliver(messages []queue.ReceivedMessage, at cluster.Reply, seconds int64) error {
	if len(messages) == 0 {
		return nil
	}
	k.call.Record.Trace.Received(messages)
	until := at.LogTime.Add(logtime.Seconds(seconds))
	if k.session != nil {
		until = k.session.lockedUntil()
	}
	var back []*amqp.Message
	for i := range messages {
		m := &messages[i]
		r := rendered{ReceivedMessage: m, deliveries: m.ReceiveCount - 1, lockedUntil: until}
		out := &amqp.Message{Settled: k.deletes}
		token := m.Handle.LockToken()
		if k.deletes {
			r.lockedUntil = 0
		}
		out.Tag, out.Value = deliveryTag(token), &held{token: token.String()}
		var err error
		if out.Payload, err = r.encode(); err != nil {
			return err
		}
		if !k.sendOne(out) {
			back = append(back, out)
		}
	}
	k.giveBack(back)
	return nil
}

// sendOne sends a message, or keeps it until there is room. It reports false if the client does not
// take it.
func (k *consumer) sendOne(m *amqp.Message) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case len(k.backlog) == 0 && k.sender.Send(*m) != nil:
		return true
	case k.receiving.Err() != nil || !k.deletes && k.sender.Credit() == 0:
		return false
	}
	k.backlog = append(k.backlog, m)
	return true
}

// giveBack makes messages visible that the client did not get. Their receive does not count.
func (k *consumer) giveBack(messages []*amqp.Message) {
	if k.deletes {
		return
	}
	for len(messages) > 0 {
		n := min(len(messages), limits.BatchEntriesMax)
		cmd := &queue.ChangeMessageVisibility{
			Queue: k.call.queue, Batch: true, Options: &queue.SettlementOptions{Session: k.sessionRef(), Uncounted: true},
		}
		for _, m := range messages[:n] {
			cmd.Entries = append(cmd.Entries, queue.VisibilityEntry{Handle: m.Value.(*held).token, VisibilityTimeout: queue.Some(int64(0))})
		}
		if _, _, err := submit[queue.EntriesDone](k.call, cmd); err != nil {
			return // they become visible when their locks end
		}
		messages = messages[n:]
	}
}

// checkSessions refuses a receiver that does not fit the entity.
func checkSessions(f *found, at *address, inSession bool) error {
	switch needs := f.hasSessions(at); {
	case needs && !inSession:
		return failure(notAllowed, "It is not possible for an entity that requires sessions to create a non-sessionful message receiver.")
	case !needs && inSession:
		return failure(notAllowed, "A sessionful message receiver cannot be created on an entity that does not require sessions. "+
			"Ensure RequiresSession is set to true when creating a Queue or Subscription to enable sessionful behavior.")
	}
	return nil
}
