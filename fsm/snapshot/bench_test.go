package snapshot

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/fsm/fsmtest"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/message"
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

// elsewhere is a store that pretends to keep bodies outside of memory, at increasing offsets.
type elsewhere struct {
	message.Memory
	offset uint32
}

func (*elsewhere) Keeps(int) bool { return true }

func (e *elsewhere) Append(text string, digest uint64) message.Body {
	e.offset += uint32(16 + len(text))
	return message.StoredBody(message.Place{Segment: 1 + e.offset>>26, Offset: e.offset}, uint32(len(text)), digest)
}

// BenchmarkRestoreParked restores a million messages in a thousand groups, with bodies in segments
// and all ids remembered, like a node that starts with a backlog. With 100,000 messages more memory
// accesses would be served from the processor's caches.
func BenchmarkRestoreParked(b *testing.B) {
	broker, send := queue.New(), fsmtest.Send()
	broker.UseStore(new(elsewhere))
	apply(b, broker, &queue.CreateQueue{Queue: "orders.fifo", Attributes: []queue.Attribute{{Name: "FifoQueue", Value: "true"}}})
	cmd := &queue.SendMessages{Queue: "orders.fifo", Batch: true, Entries: make([]queue.SendEntry, 10)}
	for i := range 100_000 {
		for j := range cmd.Entries {
			e := send.Entries[0]
			e.GroupID, e.DeduplicationID = fmt.Sprint("g", i%1000), fmt.Sprintf("3f2a9c1b-%d-%d", i%64, i*10+j)
			cmd.Entries[j] = e
		}
		apply(b, broker, cmd)
	}
	position := positionOf(broker)
	var data bytes.Buffer
	if err := WriteReferences(&data, position, broker.Freeze()); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(data.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := ReadWith(bytes.NewReader(data.Bytes()), new(elsewhere)); err != nil {
			b.Fatal(err)
		}
	}
}
