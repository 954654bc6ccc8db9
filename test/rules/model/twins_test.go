package model

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
)

// twin is one way to run the product with a history. All twins must return the same answers and end
// in the same state.
type twin interface {
	name() string
	broker() *queue.Broker
	apply(step int, at queue.Timestamp, cmd queue.Command) (queue.Result, *queue.Error)
	// repeat applies a command that another twin answered with result or refusal, and returns how
	// its answer differs.
	repeat(step int, at queue.Timestamp, cmd queue.Command, result queue.Result, refusal *queue.Error) string
	// flush applies the commands that the twin still holds, so that its state can be compared.
	flush() string
}

// allTwins contains T0 to T4 of faults.md 7.1.
func allTwins(seed uint64) []twin {
	return []twin{
		&plainTwin{b: queue.New()},
		&restoredTwin{plainTwin{b: queue.New()}, seed},
		&frozenTwin{plainTwin: plainTwin{b: queue.New()}, seed: seed},
		newLogTwin(seed),
	}
}

// twinsOf returns all twins, or, if every command is expensive, the plain one and one of the others
// in turn.
func twinsOf(seed uint64) []twin {
	all := allTwins(seed)
	if !everyCommandChecked || *seedFlag != 0 {
		return all
	}
	return []twin{all[0], all[1+seed%3]}
}

// onlyPlain returns the plain twin, for runs that test the model.
func onlyPlain() []twin { return []twin{&plainTwin{b: queue.New()}} }

// chance depends only on the seed and the step, so that a shrunken history has its snapshots at the
// same steps.
func chance(seed uint64, step int, oneIn uint64, purpose uint64) bool {
	return rand.NewPCG(seed^purpose<<32, uint64(step)).Uint64()%oneIn == 0
}

// plainTwin only applies commands (T0).
type plainTwin struct{ b *queue.Broker }

func (t *plainTwin) name() string          { return "plain twin" }
func (t *plainTwin) broker() *queue.Broker { return t.b }
func (t *plainTwin) flush() string         { return "" }

func (t *plainTwin) apply(_ int, at queue.Timestamp, cmd queue.Command) (queue.Result, *queue.Error) {
	return t.b.Apply(at, cmd)
}

func (t *plainTwin) repeat(_ int, at queue.Timestamp, cmd queue.Command, result queue.Result, refusal *queue.Error) string {
	got, err := t.b.Apply(at, cmd)
	if reflect.DeepEqual(got, result) && reflect.DeepEqual(err, refusal) {
		return ""
	}
	return answersDiffer(result, refusal, got, err)
}

func answersDiffer(result queue.Result, refusal *queue.Error, got queue.Result, err *queue.Error) string {
	return fmt.Sprintf("answers differ\nplain: %+v %v\nhere:  %+v %v", result, describeProduct(refusal), got, describeProduct(err))
}

// restoredTwin replaces its state by a restored copy at random times (T1).
type restoredTwin struct {
	plainTwin
	seed uint64
}

func (t *restoredTwin) name() string { return "restored twin" }

func (t *restoredTwin) repeat(step int, at queue.Timestamp, cmd queue.Command, result queue.Result, refusal *queue.Error) string {
	if text := t.plainTwin.repeat(step, at, cmd, result, refusal); text != "" {
		return text
	}
	if !chance(t.seed, step, 40, 1) {
		return ""
	}
	frozen := t.b.Freeze()
	restored, err := restore(frozen)
	if err != nil {
		return fmt.Sprintf("restore: %v", err)
	}
	if text := sameState(t.b, restored); text != "" {
		return "restored state: " + text
	}
	t.b = restored
	return ""
}

// restore rebuilds a Broker from the records of a Frozen state.
func restore(f *queue.Frozen) (*queue.Broker, error) {
	r, err := queue.NewRestorer(f.Broker())
	if err != nil {
		return nil, err
	}
	each := func(do func() error) bool {
		if err == nil {
			err = do()
		}
		return err == nil
	}
	f.Access().Accounts(func(a access.Account) bool { return each(func() error { return r.AddAccess(a) }) })
	f.Tombstones(func(x queue.TombstoneRecord) bool { return each(func() error { return r.AddTombstone(x) }) })
	f.MoveTasks(func(x queue.MoveTaskRecord) bool { return each(func() error { return r.AddMoveTask(x) }) })
	f.Queues(func(q queue.FrozenQueue) bool {
		if !each(func() error { return r.AddQueue(q.Record()) }) {
			return false
		}
		q.Messages(func(x *queue.MessageRecord) bool { return each(func() error { return r.AddMessage(x) }) })
		q.Deduplication(func(x queue.DeduplicationRecord) bool {
			return each(func() error { return r.AddDeduplication([]queue.DeduplicationRecord{x}) })
		})
		q.Attempts(func(x queue.AttemptRecord) bool { return each(func() error { return r.AddAttempt(x) }) })
		q.Sessions(func(x queue.SessionRecord) bool { return each(func() error { return r.AddSession(x) }) })
		return err == nil
	})
	f.Topics(func(t queue.FrozenTopic) bool {
		if !each(func() error { return r.AddTopic(t.Record()) }) {
			return false
		}
		t.Subscriptions(func(x queue.SubscriptionRecord) bool { return each(func() error { return r.AddSubscription(x) }) })
		t.Rules(func(x queue.RuleRecord) bool { return each(func() error { return r.AddRule(x) }) })
		t.Deduplication(func(x queue.DeduplicationRecord) bool {
			return each(func() error { return r.AddTopicDeduplication([]queue.DeduplicationRecord{x}) })
		})
		t.Archive(func(x queue.ArchivedRecord) bool { return each(func() error { return r.AddArchived(x) }) })
		t.Scheduled(func(x queue.ScheduledRecord) bool { return each(func() error { return r.AddScheduled(x) }) })
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	return r.Finish()
}

// frozenTwin freezes its state at random times, continues to apply commands, and reads the frozen
// state later, which must be unchanged (T2).
type frozenTwin struct {
	plainTwin
	seed   uint64
	frozen *queue.Frozen
	before state
}

func (t *frozenTwin) name() string { return "frozen twin" }

func (t *frozenTwin) repeat(step int, at queue.Timestamp, cmd queue.Command, result queue.Result, refusal *queue.Error) string {
	if text := t.plainTwin.repeat(step, at, cmd, result, refusal); text != "" {
		return text
	}
	if t.frozen == nil {
		if chance(t.seed, step, 50, 2) {
			t.frozen = t.b.Freeze()
			t.before = walk(t.frozen)
		}
		return ""
	}
	if !chance(t.seed, step, 30, 3) {
		return ""
	}
	return t.flush()
}

func (t *frozenTwin) flush() string {
	if t.frozen == nil {
		return ""
	}
	frozen := t.frozen
	t.frozen = nil
	if after := walk(frozen); !reflect.DeepEqual(t.before, after) {
		return "a frozen state changed while applying went on:\n" + stateDiff(t.before, after)
	}
	return ""
}

// state contains everything that a Frozen state returns.
type state struct {
	Broker     queue.BrokerRecord
	Hash       [16]byte
	Accounts   []access.Account
	Tombstones []queue.TombstoneRecord
	Tasks      []queue.MoveTaskRecord
	Queues     []queueState
	Topics     []topicState
}

type queueState struct {
	Record        queue.QueueRecord
	Messages      []queue.MessageRecord
	Deduplication []queue.DeduplicationRecord
	Attempts      []queue.AttemptRecord
	Sessions      []queue.SessionRecord
}

type topicState struct {
	Record        queue.TopicRecord
	Subscriptions []queue.SubscriptionRecord
	Deduplication []queue.DeduplicationRecord
	Scheduled     []queue.ScheduledRecord
}

func walk(f *queue.Frozen) state {
	s := state{Broker: f.Broker(), Hash: f.StateHash()}
	f.Access().Accounts(func(a access.Account) bool { s.Accounts = append(s.Accounts, a); return true })
	f.Tombstones(func(x queue.TombstoneRecord) bool { s.Tombstones = append(s.Tombstones, x); return true })
	f.MoveTasks(func(x queue.MoveTaskRecord) bool { s.Tasks = append(s.Tasks, x); return true })
	f.Queues(func(q queue.FrozenQueue) bool {
		one := queueState{Record: q.Record()}
		q.Messages(func(x *queue.MessageRecord) bool { one.Messages = append(one.Messages, *x); return true })
		q.Deduplication(func(x queue.DeduplicationRecord) bool { one.Deduplication = append(one.Deduplication, x); return true })
		q.Attempts(func(x queue.AttemptRecord) bool { one.Attempts = append(one.Attempts, x); return true })
		q.Sessions(func(x queue.SessionRecord) bool { one.Sessions = append(one.Sessions, x); return true })
		s.Queues = append(s.Queues, one)
		return true
	})
	f.Topics(func(t queue.FrozenTopic) bool {
		one := topicState{Record: t.Record()}
		t.Subscriptions(func(x queue.SubscriptionRecord) bool { one.Subscriptions = append(one.Subscriptions, x); return true })
		t.Deduplication(func(x queue.DeduplicationRecord) bool { one.Deduplication = append(one.Deduplication, x); return true })
		t.Scheduled(func(x queue.ScheduledRecord) bool { one.Scheduled = append(one.Scheduled, x); return true })
		s.Topics = append(s.Topics, one)
		return true
	})
	return s
}

func stateDiff(a, b state) string {
	text := cmp.Diff(a, b, cmp.Exporter(func(reflect.Type) bool { return true }))
	if len(text) > 4000 {
		text = text[:4000] + "\n..."
	}
	return text
}

// sameState compares two Brokers by hash, deadline of the records and snapshot bytes.
func sameState(a, b *queue.Broker) string {
	if a.StateHash() != b.StateHash() {
		return fmt.Sprintf("state hashes %x and %x\n%s", a.StateHash(), b.StateHash(), stateDiff(walk(a.Freeze()), walk(b.Freeze())))
	}
	if a.RecordsDeadline() != b.RecordsDeadline() { // a restored state has no publications to release
		return fmt.Sprintf("next deadlines %d and %d", a.RecordsDeadline(), b.RecordsDeadline())
	}
	left, err := snapshotBytes(a, snapshot.Position{})
	if err != nil {
		return fmt.Sprintf("snapshot: %v", err)
	}
	right, err := snapshotBytes(b, snapshot.Position{})
	if err != nil {
		return fmt.Sprintf("snapshot: %v", err)
	}
	if !bytes.Equal(left, right) {
		return "snapshot bytes differ\n" + stateDiff(walk(a.Freeze()), walk(b.Freeze()))
	}
	return ""
}

func snapshotBytes(b *queue.Broker, at snapshot.Position) ([]byte, error) {
	at.StateHash = b.StateHash()
	at.At = b.Now()
	var out bytes.Buffer
	err := snapshot.Write(&out, at, b.Freeze())
	return out.Bytes(), err
}
