package window

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/logtime"
)

// How many ids one command forgets: of the queue it names, and of all queues when it advances the
// clock.
const (
	forgottenByCommand = 64
	forgottenByClock   = 1000
)

// machine is a state machine with a clock that the test sets.
type machine struct {
	*queue.Broker
	t       *testing.T
	at      queue.Timestamp
	longest time.Duration // longest command since the last reset, in processor time
}

func newMachine(t *testing.T) *machine {
	runtime.LockOSThread() // for threadTime; the thread ends with the test's goroutine
	m := &machine{Broker: queue.New(), t: t, at: 1_000_000}
	m.apply(&queue.SetClusterSetting{Name: queue.SettingReceiptKey, Value: "000102030405060708090a0b0c0d0e0f"})
	m.create(ids, strconv.Itoa(6*day))
	return m
}

func (m *machine) create(name, window string) {
	m.t.Helper()
	m.apply(&queue.CreateQueue{Queue: name, Attributes: []queue.Attribute{
		{Name: "DeduplicationWindowSeconds", Value: window},
		{Name: "FifoQueue", Value: "true"},
		{Name: "PurgeClearsDeduplicationHistory", Value: "false"},
	}})
}

// apply executes a command that was encoded and decoded as in the log.
func (m *machine) apply(c queue.Command) queue.Result {
	m.t.Helper()
	prepared, refusal := queue.Prepare(c)
	if refusal != nil {
		m.t.Fatal(refusal)
	}
	before := threadTime()
	result, refusal := m.Apply(m.at, prepared.Command)
	m.longest = max(m.longest, threadTime()-before)
	if refusal != nil {
		m.t.Fatalf("%T: %v", c, refusal)
	}
	return result
}

func (m *machine) resize(seconds int) {
	m.t.Helper()
	m.apply(&queue.SetQueueAttributes{Queue: ids,
		Attributes: []queue.Attribute{{Name: "DeduplicationWindowSeconds", Value: strconv.Itoa(seconds)}}})
}

// send sends a batch of ids.
func (m *machine) send(first, count int) []queue.SentEntry {
	m.t.Helper()
	c := &queue.SendMessages{Queue: ids, SenderID: "000000000000"}
	for id := first; id < first+count; id++ {
		c.Entries = append(c.Entries, queue.SendEntry{
			Body: "m", GroupID: strconv.Itoa(id % groups), GroupIDGiven: true, DeduplicationID: "deduplication-id-" + strconv.Itoa(id),
			DeduplicationIDGiven: true,
		})
	}
	return m.apply(c).(queue.MessagesSent).Entries
}

func (m *machine) kept() int64 {
	m.t.Helper()
	stats, refusal := m.View().DeduplicationStats(ids)
	if refusal != nil {
		m.t.Fatal(refusal)
	}
	return stats.Kept
}

// forget advances the clock, with a send each time, until nothing is due.
func (m *machine) forget(next *int) (entries int) {
	m.t.Helper()
	for due := m.NextDeadline(); due != 0 && due <= m.at; due = m.NextDeadline() {
		before := m.kept()
		m.apply(&queue.AdvanceClock{})
		if gone := before - m.kept(); gone > forgottenByClock {
			m.t.Fatalf("%d ids were forgotten in one entry", gone)
		}
		before = m.kept()
		m.send(*next, 1)
		*next++
		if gone := before + 1 - m.kept(); gone > forgottenByCommand {
			m.t.Fatalf("%d ids were forgotten with one send", gone)
		}
		entries++
	}
	return entries
}

// measure reports the longest command of a part of the test.
func (m *machine) measure(what string, do func()) {
	m.longest = 0
	do()
	m.t.Logf("%s: longest command %v of processor time", what, m.longest)
}

// TestWorkOfOneEntry checks that no command takes long, whatever the number of ids: when ids are
// added, when the window changes, and when ids are forgotten.
func TestWorkOfOneEntry(t *testing.T) {
	m := newMachine(t)
	half, next := *idsFlag/2/batchSize*batchSize, *idsFlag
	fill := func(first, end int) {
		for id := first; id < end; id += batchSize {
			m.send(id, batchSize)
			if id%purgeEvery < batchSize {
				m.apply(&queue.PurgeQueue{Queue: ids})
			}
		}
	}
	m.measure("filling", func() {
		fill(0, half)
		m.at = m.at.Add(3 * day * logtime.Second)
		fill(half, 2*half)
	})
	if m.kept() != int64(2*half) {
		t.Fatalf("%d ids are kept, want %d", m.kept(), 2*half)
	}
	m.measure("growing", func() { m.resize(7 * day) })
	m.measure("shrinking", func() { m.resize(2 * day) })
	m.measure("growing again", func() { m.resize(7 * day) })
	m.measure("forgetting the older half", func() {
		t.Logf("forgotten in %d entries", m.forget(&next))
	})
	// In the end the younger half is still known, and the older half is not.
	first := m.send(half, 1)[0]
	if again := m.send(half, 1)[0]; again.MessageID != first.MessageID || !first.Duplicate {
		t.Errorf("an id of the younger half got %+v, then %+v", first, again)
	}
	if sent := m.send(0, 1)[0]; sent.Duplicate {
		t.Errorf("an id of the older half got %+v", sent)
	}
	m.at = m.at.Add(8 * day * logtime.Second)
	m.measure("forgetting at the end of the window", func() {
		t.Logf("forgotten in %d entries", m.forget(&next))
	})
	if kept := m.kept(); kept > int64(next-*idsFlag) {
		t.Errorf("%d ids are kept", kept)
	}
}
