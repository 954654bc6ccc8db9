package servicebus

import (
	"sync"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/transport/amqp"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
)

// kind is the effect of a settlement on a message.
type kind uint8

const (
	complete kind = iota
	release       // give back, not counted
	abandon       // give back
	postpone      // defer
	deadLetter
)

// kindRules has the permission of each kind, and the largest number of messages in a command.
var kindRules = [...]struct {
	needs permission
	most  int
}{
	complete:   {toDelete, limits.StreamEntriesMax},
	release:    {toChange, limits.BatchEntriesMax},
	abandon:    {toChange, limits.BatchEntriesMax},
	postpone:   {toChange, limits.BatchEntriesMax},
	deadLetter: {toDeadLetter, limits.BatchEntriesMax},
}

// settlement is the outcome of one message.
type settlement struct {
	kind                kind
	token               string // lock token
	reason, description string
	changes             []queue.PropertyChange
}

// Entries of the info of an outcome that dead-letters a message.
const (
	infoReason      = "DeadLetterReason"
	infoDescription = "DeadLetterErrorDescription"
)

// readOutcome returns the settlement of an outcome.
func readOutcome(state *wire.State) (s settlement, ok bool) {
	switch state.Code {
	case wire.CodeAccepted:
		return settlement{kind: complete}, true
	case wire.CodeReleased:
		return settlement{kind: release}, true
	case wire.CodeModified:
		s.kind = abandon
		if state.UndeliverableHere {
			s.kind = postpone
		}
		s.changes = changesOf(state.Annotations)
		return s, true
	case wire.CodeRejected:
		s.kind = deadLetter
		if e := state.Error; e != nil {
			s.reason, s.description = textOf(e.Info.Lookup(infoReason)), textOf(e.Info.Lookup(infoDescription))
			s.changes = changesOf(e.Info)
		}
		return s, true
	}
	return s, false
}

// changesOf reads the properties to modify. Reason and description of a dead letter are none.
func changesOf(properties wire.Value) (changes []queue.PropertyChange) {
	for key, value := range properties.Map() {
		name := textOf(key)
		if name == "" || name == infoReason || name == infoDescription {
			continue
		}
		changes = append(changes, queue.PropertyChange{Scope: message.ScopeApplication, Name: name, Value: string(value)})
	}
	return changes
}

// settler executes the settlements of a link. Safe for concurrent use.
type settler struct {
	consumer *consumer

	mu      sync.Mutex
	waiting []*unanswered
	running int
}

// unanswered is a settlement without an answer.
type unanswered struct {
	does    settlement
	sent    *amqp.Sent
	outcome wire.State // to answer
	settled bool       // by the client, which needs no answer
}

// Disposition executes the outcome that the client has for a message.
func (k *consumer) Disposition(d *amqp.Sent, state *wire.State, settled bool) {
	message, ours := d.Value.(*held)
	if !ours || k.deletes {
		d.Settle(*state)
		return
	}
	if state.Code == wire.CodeTransactionalState {
		k.enlist(d, message.token, state, settled)
		return
	}
	s, ok := readOutcome(state)
	if !ok {
		if !settled {
			d.Settle(wire.State{Code: wire.CodeRejected, Error: failure(notImplemented, "The outcome is not supported.")})
		}
		return
	}
	s.token = message.token
	k.settler.add(&unanswered{does: s, sent: d, outcome: echo(state), settled: settled})
}

// echo returns the answer to an outcome. Clients compare its code. An error in it would be one of the broker.
func echo(state *wire.State) wire.State {
	return wire.State{Code: state.Code, DeliveryFailed: state.DeliveryFailed, UndeliverableHere: state.UndeliverableHere}
}

// enlist makes the outcome of a message a part of a transaction. The message stays locked until the commit.
func (k *consumer) enlist(d *amqp.Sent, token string, state *wire.State, settled bool) {
	answer, err := k.addTo(token, state)
	if err != nil {
		of, _ := k.call.server.errorOf(err) // nothing was written
		answer = rejected(of)
	}
	if !settled {
		d.Settle(answer)
	}
}

func (k *consumer) addTo(token string, state *wire.State) (answer wire.State, err error) {
	t, err := k.link.connection.transaction(state.TxnID)
	if err != nil {
		return answer, err
	}
	outcome, err := wire.ReadState(state.Outcome)
	s, ok := readOutcome(&outcome)
	if err != nil || !ok {
		err = failure(notImplemented, "The outcome is not supported.")
	}
	s.token = token
	if err == nil {
		err = k.call.permits(kindRules[s.kind].needs)
	}
	if err == nil {
		err = t.add(part{call: k.call, path: k.link.path, needs: kindRules[s.kind].needs, in: k.sessionRef(), does: s})
	}
	if err != nil {
		of, _ := k.call.server.errorOf(err)
		t.fail(of)
		return answer, err
	}
	return t.state(echo(&outcome)), nil
}

func (s *settler) add(one *unanswered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, one)
	if s.running < commandsMax {
		s.running++
		s.consumer.call.server.work.Go(s.run)
	}
}

// run executes settlements until none waits.
func (s *settler) run() {
	for {
		batch := s.take()
		if len(batch) == 0 {
			return
		}
		s.consumer.execute(batch)
	}
}

// take takes settlements that fit into one command: of one kind, and without changed properties if they
// are several.
func (s *settler) take() (batch []*unanswered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept []*unanswered
	for _, one := range s.waiting {
		first := len(batch) == 0
		fits := first || one.does.kind == batch[0].does.kind && len(one.does.changes) == 0 && len(batch[0].does.changes) == 0
		if fits && len(batch) < kindRules[one.does.kind].most {
			batch = append(batch, one)
		} else {
			kept = append(kept, one)
		}
	}
	s.waiting = kept
	if len(batch) == 0 {
		s.running--
	}
	return batch
}

// execute executes settlements and answers them.
func (k *consumer) execute(batch []*unanswered) {
	settlements := make([]settlement, len(batch))
	for i, one := range batch {
		settlements[i] = one.does
	}
	errs, err := k.call.dispose(k.sessionRef(), settlements)
	for i, one := range batch {
		outcome := one.outcome
		switch {
		case err != nil:
			of, certain := k.call.server.errorOf(err)
			if !certain {
				k.sender.Detach(errUnsettled)
				return
			}
			outcome = wire.State{Code: wire.CodeRejected, Error: of}
		case errs[i] != nil:
			outcome = wire.State{Code: wire.CodeRejected, Error: refusalOf(errs[i])}
		}
		if !one.settled {
			one.sent.Settle(outcome)
		}
	}
}

var errUnsettled = failure(detachForced, "The outcome of a settlement is unknown: it may have taken effect or not.")

// dispose executes settlements of one kind. Without an error it returns a refusal or nil for each.
func (c *call) dispose(in queue.SessionRef, all []settlement) ([]*queue.Error, error) {
	of := all[0].kind
	if err := c.permits(kindRules[of].needs); err != nil {
		return nil, err
	}
	tokens := make([]string, len(all))
	for i := range all {
		tokens[i] = all[i].token
	}
	options := &queue.SettlementOptions{Session: in, Uncounted: of == release}
	var cmd queue.Command
	switch of {
	case complete:
		cmd = &queue.DeleteMessages{Queue: c.queue, Batch: true, Handles: tokens, Options: options,
			Streamed: len(tokens) > limits.BatchEntriesMax}
	case release, abandon:
		change := &queue.ChangeMessageVisibility{Queue: c.queue, Batch: true, Options: options, Changes: all[0].changes}
		for _, token := range tokens {
			change.Entries = append(change.Entries, queue.VisibilityEntry{Handle: token, VisibilityTimeout: queue.Some(int64(0))})
		}
		cmd = change
	case postpone:
		cmd = &queue.Defer{Queue: c.queue, Session: in, Handles: tokens, Changes: all[0].changes}
	case deadLetter:
		move := &queue.DeadLetter{Queue: c.queue, Session: in, Changes: all[0].changes}
		for i := range all {
			e := queue.DeadLetterEntry{Handle: tokens[i], Reason: all[i].reason, Description: all[i].description}
			move.Entries = append(move.Entries, e)
		}
		cmd = move
	}
	done, _, err := submit[queue.EntriesDone](c, cmd)
	return done.Errs, err
}
