package servicebus

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/amqp"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/service"
)

const (
	filterSession      = "com.microsoft:session-filter"
	propertyLocked     = "com.microsoft:locked-until-utc"
	propertyTimeout    = "com.microsoft:timeout"
	descriptorSession  = 0x137000000C
	acceptWaitDefault  = time.Minute
	ticksOf1970        = 621_355_968_000_000_000
	ticksOfMillisecond = 10_000
)

// wanted is the session that a filter names.
type wanted struct {
	id        string
	given     bool // false: the next available one
	described bool // the form of the filter
}

// sessionFilter reads the filter of a source. It reports false if there is none.
func sessionFilter(filter wire.Value) (w wanted, ok bool) {
	for key, value := range filter.Map() {
		if !key.Is(filterSession) {
			continue
		}
		if _, inner, is := value.Described(); is {
			w.described, value = true, inner
		}
		w.id, w.given = value.Text()
		return w, true
	}
	return wanted{}, false
}

// heldSession is the session of a link. Safe for concurrent use.
type heldSession struct {
	ref  queue.SessionRef
	link string // its name

	mu    sync.Mutex
	until queue.Timestamp
}

func (h *heldSession) lockedUntil() queue.Timestamp {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.until
}

func (h *heldSession) renewed(until queue.Timestamp) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.until = max(h.until, until)
}

// sessionRef returns the session of the link, zero for none.
func (k *consumer) sessionRef() queue.SessionRef {
	if k.session == nil {
		return queue.SessionRef{}
	}
	return k.session.ref
}

// acceptSession locks the session of a link, and returns the answer to its attach.
func (k *consumer) acceptSession(a *attachment, w wanted, drained context.Context) (amqp.Answer, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(k.call.ctx))
	defer cancel()
	defer context.AfterFunc(a.ctx, cancel)()
	defer context.AfterFunc(drained, cancel)()
	locked, err := k.awaitSession(ctx, w, timeoutOf(a.request.Attach.Properties))
	switch {
	case drained.Err() != nil && err != nil:
		return amqp.Answer{}, errDraining
	case err != nil:
		return amqp.Answer{}, err
	}
	k.session = &heldSession{
		ref:  queue.SessionRef{SessionID: locked.SessionID, Token: locked.Token.String()},
		link: strings.Clone(a.request.Attach.Name), until: locked.LockedUntil,
	}
	k.link.connection.hold(k)
	source := a.request.Source
	source.Filter = w.answer(sessionOf(locked.SessionID))
	properties, mark := wire.BeginMap(nil)
	properties = wire.AppendLong(wire.AppendSymbol(properties, propertyLocked), ticks(locked.LockedUntil))
	return amqp.Answer{Source: &source, Properties: mark.End(properties)}, nil
}

// timeoutOf returns the time in which the client wants an answer.
func timeoutOf(properties wire.Value) time.Duration {
	if ms, ok := properties.Lookup(propertyTimeout).Integer(); ok && ms > 0 {
		return time.Duration(min(ms, int64(time.Hour/time.Millisecond))) * time.Millisecond
	}
	return acceptWaitDefault
}

// awaitSession locks a session. An attempt id makes repeated commands safe.
func (k *consumer) awaitSession(ctx context.Context, w wanted, timeout time.Duration) (queue.SessionLocked, error) {
	attempt, err := service.NewAttemptID(k.call.server.Random)
	if err != nil {
		return queue.SessionLocked{}, err
	}
	cmd := &queue.AcceptSession{
		Queue: k.call.queue, SessionID: groupOf(w.id), SessionIDGiven: w.given, AttemptID: attempt, AttemptIDGiven: true,
	}
	if !w.given {
		cmd.SessionID = ""
	}
	end := k.call.server.Now().Add(timeout)
	for {
		left := end.Sub(k.call.server.Now())
		locked, _, err := resultOf[queue.SessionLocked](k.call.server.Node.AcceptSession(ctx, cmd, min(max(left, 0), receiveWait)))
		if err != nil || locked.Token != (queue.SessionLocked{}).Token {
			return locked, err
		}
		if left <= receiveWait || ctx.Err() != nil {
			return locked, failure(timedOut, "No session with messages was free until the timeout was over.")
		}
	}
}

// answer returns the filter of a locked session in the form of the request.
func (w *wanted) answer(id string) wire.Value {
	b, mark := wire.BeginMap(nil)
	b = wire.AppendSymbol(b, filterSession)
	if w.described {
		b = wire.AppendDescriptor(b, descriptorSession)
	}
	return mark.End(wire.AppendString(b, id))
}

// ticks returns a time in units of 100 ns since the year 1.
func ticks(t queue.Timestamp) int64 { return int64(t)*ticksOfMillisecond + ticksOf1970 }

// hold notes the session of a link for requests to the management node.
func (c *connection) hold(k *consumer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions[sessionKey{k.call.queue, k.session.ref.SessionID}] = k.session
}

// releaseSession ends the lock of the link's session.
func (k *consumer) releaseSession() {
	if k.session == nil {
		return
	}
	key := sessionKey{k.call.queue, k.session.ref.SessionID}
	k.link.connection.mu.Lock()
	if k.link.connection.sessions[key] == k.session {
		delete(k.link.connection.sessions, key)
	}
	k.link.connection.mu.Unlock()
	// A lock that is lost already needs no release, and any other ends by itself.
	_, _, _ = submit[queue.Done](k.call, &queue.ReleaseSession{Queue: k.call.queue, Session: k.session.ref})
}

// watchLock detaches the link when the lock of its session is lost.
func (k *consumer) watchLock() {
	if k.session == nil {
		return
	}
	k.call.server.work.Go(func() {
		for {
			left := time.Duration(int64(k.session.lockedUntil())-k.call.server.Now().UnixMilli()) * time.Millisecond
			select {
			case <-time.After(max(left, time.Second)):
			case <-k.receiving.Done():
				return
			}
			var refused *queue.Error
			err := k.call.look(k.receiving, func(v queue.View) error {
				if _, _, refused = v.SessionState(k.call.queue, k.session.ref); refused != nil {
					return refused
				}
				return nil
			})
			if err != nil && refused != nil {
				k.sender.Detach(refusalOf(refused))
				return
			}
		}
	})
}
