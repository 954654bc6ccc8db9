package fsm

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/fsm/fsmtest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/logtime"
)

// drawnCommands draws commands on a few queues, each of which may get handles of the others.
type drawnCommands struct {
	rt      *rapid.T
	handles []string
}

func (d *drawnCommands) next() queue.Command {
	name := rapid.SampledFrom([]string{"a.fifo", "b.fifo", "c"}).Draw(d.rt, "queue")
	number := func(most int) int { return rapid.IntRange(0, most).Draw(d.rt, "number") }
	switch kind := rapid.SampledFrom([]string{"send", "send", "send", "receive", "receive", "delete", "delete", "change", "purge", "clock",
		"scope", "remove", "create"}).Draw(d.rt, "command"); {
	case kind == "send":
		entry := queue.SendEntry{Body: fmt.Sprint("body ", number(9))}
		if strings.HasSuffix(name, ".fifo") {
			entry.GroupID, entry.GroupIDGiven = fmt.Sprint("g", number(2)), true
			entry.DeduplicationID, entry.DeduplicationIDGiven = fmt.Sprint("d", number(9)), true
		}
		return &queue.SendMessages{Queue: name, SenderID: fmt.Sprint("s", number(1)), Entries: []queue.SendEntry{entry}}
	case kind == "receive":
		return &queue.ReceiveMessages{
			Queue: name, MaxMessages: queue.Some(int64(1 + number(3))), VisibilityTimeout: queue.Some(int64(number(20))),
			AttemptID: "attempt", AttemptIDGiven: number(3) == 0,
		}
	case kind == "delete" && len(d.handles) > 0:
		return &queue.DeleteMessages{Queue: name, Handles: []string{rapid.SampledFrom(d.handles).Draw(d.rt, "handle")}}
	case kind == "change" && len(d.handles) > 0:
		return &queue.ChangeMessageVisibility{Queue: name, Entries: []queue.VisibilityEntry{{
			Handle: rapid.SampledFrom(d.handles).Draw(d.rt, "handle"), VisibilityTimeout: queue.Some(int64(number(30))),
		}}}
	case kind == "purge":
		return &queue.PurgeQueue{Queue: name}
	case kind == "scope":
		scope := rapid.SampledFrom([]string{"queue", "messageGroup"}).Draw(d.rt, "scope")
		return &queue.SetQueueAttributes{Queue: name, Attributes: pairs([]string{"DeduplicationScope=" + scope})}
	case kind == "remove":
		return &queue.DeleteQueue{Queue: name}
	case kind == "create":
		return drawnQueue(name)
	}
	return &queue.AdvanceClock{}
}

func drawnQueue(name string) *queue.CreateQueue {
	cmd := &queue.CreateQueue{Queue: name, Attributes: pairs([]string{"VisibilityTimeout=10", "MessageRetentionPeriod=60"})}
	if strings.HasSuffix(name, ".fifo") {
		cmd.Attributes = append(cmd.Attributes, pairs([]string{"FifoQueue=true", "DelaySeconds=3"})...)
	}
	return cmd
}

// Commands give the same results and state in one entry as in entries of their own.
func TestEntriesOfAnySizeGiveTheSameState(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		one, many := founded(t, Options{}), founded(t, Options{})
		for _, name := range []string{"a.fifo", "b.fifo", "c"} {
			one.apply(start, drawnQueue(name))
			many.apply(start, drawnQueue(name))
		}
		d, at := drawnCommands{rt: rt}, start
		for range rapid.IntRange(1, 10).Draw(rt, "entries") {
			at = at.Add(logtime.Duration(rapid.IntRange(0, 30_000).Draw(rt, "passed")))
			var commands []queue.Command
			var want []codec.Response
			for range rapid.IntRange(1, 10).Draw(rt, "commands") {
				cmd := d.next()
				got := one.apply(at, cmd)
				if received, ok := got.Result.(queue.MessagesReceived); ok {
					for i := range received.Messages {
						d.handles = append(d.handles, received.Messages[i].Handle.String())
					}
				}
				commands, want = append(commands, cmd), append(want, got)
			}
			result := many.fsm.Apply(many.entry(at, commands...)).(EntryResult)
			if diff := cmp.Diff(want, result.Responses, fsmtest.SameBody); diff != "" {
				rt.Fatalf("answers (-alone +together):\n%s", diff)
			}
			a, b := one.fsm.Broker(), many.fsm.Broker()
			if one.fsm.Position().StateHash != many.fsm.Position().StateHash {
				rt.Fatal("the states differ")
			}
			if a.NextDeadline() != b.NextDeadline() || a.View().StateBytes() != b.View().StateBytes() {
				rt.Fatalf("deadlines %d and %d, sizes %d and %d", a.NextDeadline(), b.NextDeadline(), a.View().StateBytes(),
					b.View().StateBytes())
			}
		}
		many.sound()
	})
}

// An entry emits MessagesAvailable once, by the state at its end.
func TestEntryTellsOnceWhatIsAvailable(t *testing.T) {
	var emitted []queue.Event
	r := founded(t, Options{Applied: func(_ uint64, _ queue.Timestamp, events []queue.Event) { emitted = events }})
	r.apply(start, &queue.CreateQueue{Queue: "c"})
	send := &queue.SendMessages{Queue: "c", Entries: []queue.SendEntry{{Body: "b"}}}
	receive := &queue.ReceiveMessages{Queue: "c"}
	for _, c := range []struct {
		commands []queue.Command
		want     []queue.Event
	}{
		{[]queue.Command{send, send, send}, []queue.Event{{Kind: queue.MessagesAvailable, Queue: "c"}}},
		{[]queue.Command{receive, receive, receive}, nil},
		{[]queue.Command{send, receive}, nil},
		{[]queue.Command{send, &queue.DeleteQueue{Queue: "c"}}, []queue.Event{{Kind: queue.QueueDeleted, Queue: "c"}}},
	} {
		emitted = nil
		r.fsm.Apply(r.entry(start, c.commands...))
		if diff := cmp.Diff(c.want, emitted); diff != "" {
			t.Errorf("%d commands (-want +emitted):\n%s", len(c.commands), diff)
		}
	}
	r.sound()
}

// The state keeps no memory of an entry's dropped sends.
func TestStateKeepsNoEntries(t *testing.T) {
	const entries, size = 200, 200 << 10
	r := founded(t, Options{})
	r.apply(start, &queue.CreateQueue{Queue: "a.fifo", Attributes: pairs([]string{"FifoQueue=true"})})
	send := func(id, body string) *queue.SendMessages {
		return &queue.SendMessages{Queue: "a.fifo", SenderID: id, Entries: []queue.SendEntry{{
			Body: body, GroupID: id, GroupIDGiven: true, DeduplicationID: id, DeduplicationIDGiven: true,
			Attributes: []queue.MessageAttribute{{Name: id, DataType: "String", Value: id}}, TraceHeader: id,
		}}}
	}
	heap := func() uint64 {
		var memory runtime.MemStats
		runtime.GC()
		runtime.GC() // freed pool memory
		runtime.ReadMemStats(&memory)
		return memory.HeapAlloc
	}
	r.apply(start, send("first", "b"))
	before := heap()
	for i := range entries {
		id := fmt.Sprint("id-", i)
		result := r.fsm.Apply(r.entry(start, send(id, "small"), send("first", strings.Repeat("x", size)),
			&queue.ReceiveMessages{Queue: "a.fifo", AttemptID: id, AttemptIDGiven: true})).(EntryResult)
		for _, response := range result.Responses {
			if response.Err != nil {
				t.Fatal(response.Err)
			}
		}
	}
	if grown := int64(heap()) - int64(before); grown > entries*size/10 {
		t.Errorf("%d small messages keep %d bytes", entries, grown)
	}
	runtime.KeepAlive(r)
}
