package fsm

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue"
)

const (
	fanOutQueues    = 100
	fanOutPublishes = 200
	fanOutBody      = 10 << 10
)

// footprint is the growth of a replica in bytes per publish.
type footprint struct{ snapshot, state, heap float64 }

// fanOutFootprint publishes bodies of a size to a topic with a hundred queues.
func fanOutFootprint(t *testing.T, bodyBytes int) footprint {
	r := founded(t, Options{})
	apply := func(cmd queue.Command) {
		if got := r.apply(start, cmd); got.Err != nil {
			t.Fatalf("%T: %v", cmd, got.Err)
		}
	}
	apply(&queue.CreateTopic{Topic: "t.fifo", TopicARN: scenarioTopics + "t.fifo", Attributes: pairs([]string{"FifoTopic=true"})})
	for i := range fanOutQueues {
		name := fmt.Sprintf("q%d.fifo", i)
		apply(&queue.CreateQueue{Queue: name, Attributes: pairs([]string{"FifoQueue=true"})})
		apply(&queue.Subscribe{Topic: "t.fifo", Endpoint: scenarioQueues + name, Owner: "000000000000"})
	}
	before := measure(r)
	for n := 0; n < fanOutPublishes; n += 10 {
		publish := &queue.Publish{Topic: "t.fifo", SenderID: "AIDAEXAMPLE", Endpoint: "http://localhost:9324", Batch: true}
		for i := range 10 {
			id := fmt.Sprintf("%06d", n+i)
			publish.Entries = append(publish.Entries, queue.PublishEntry{
				Message: strings.Repeat(id, bodyBytes/len(id)+1)[:bodyBytes],
				GroupID: "g", GroupIDGiven: true, DeduplicationID: id, DeduplicationIDGiven: true,
			})
		}
		apply(publish)
	}
	after := measure(r)
	runtime.KeepAlive(r)
	return footprint{
		snapshot: (after.snapshot - before.snapshot) / fanOutPublishes,
		state:    (after.state - before.state) / fanOutPublishes,
		heap:     (after.heap - before.heap) / fanOutPublishes,
	}
}

func measure(r *replica) footprint {
	snapshot := len(r.snapshot())
	var memory runtime.MemStats
	for range 2 { // the second run frees memory of finalizers and pools
		runtime.GC()
	}
	runtime.ReadMemStats(&memory)
	return footprint{float64(snapshot), float64(r.fsm.View().StateBytes()), float64(memory.HeapAlloc)}
}

// A publish to a hundred queues costs its body once: in snapshots, in the size of the state, and in
// memory. The difference between large and small bodies is one body.
func TestFanOutHoldsOneBody(t *testing.T) {
	small, large := fanOutFootprint(t, 1), fanOutFootprint(t, fanOutBody)
	for _, c := range []struct {
		what         string
		small, large float64
		least, most  float64 // bodies
	}{
		{"snapshot", small.snapshot, large.snapshot, 0.99, 1.01},
		{"size of the state", small.state, large.state, 0.99, 1.01},
		{"heap", small.heap, large.heap, 0.5, 2},
	} {
		bodies := (c.large - c.small) / (fanOutBody - 1)
		t.Logf("%s: a publish to %d queues takes %.0f bytes with a body of 1 byte, %.0f with one of %d: %.3f bodies more",
			c.what, fanOutQueues, c.small, c.large, fanOutBody, bodies)
		if bodies < c.least || bodies > c.most {
			t.Errorf("%s: grows by %.3f bodies for each publish, want one", c.what, bodies)
		}
	}
}
