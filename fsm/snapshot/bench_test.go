package snapshot

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/fsm/fsmtest"
	"github.com/seriatimq/seriatim/queue"
)

// BenchmarkSnapshot writes and restores 100,000 messages.
func BenchmarkSnapshot(b *testing.B) {
	broker, send := queue.New(), fsmtest.Send()
	apply(b, broker, &queue.CreateQueue{Queue: "orders.fifo", Attributes: []queue.Attribute{{Name: "FifoQueue", Value: "true"}}})
	const messages = 100_000
	for i := range messages / 10 {
		cmd := &queue.SendMessages{Queue: "orders.fifo", Batch: true, Entries: make([]queue.SendEntry, 10)}
		for j := range cmd.Entries {
			cmd.Entries[j] = send.Entries[0]
			cmd.Entries[j].DeduplicationID = fmt.Sprint(i*10 + j)
		}
		apply(b, broker, cmd)
	}
	position := positionOf(broker)
	data := stored(b, position, broker)
	b.Run("write", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if err := Write(io.Discard, position, broker.Freeze()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("restore", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := Read(strings.NewReader(string(data))); err != nil {
				b.Fatal(err)
			}
		}
	})
}
