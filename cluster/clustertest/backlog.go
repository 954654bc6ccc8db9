package clustertest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/message"
)

// BacklogBodyBytes is the length of each body of a Backlog.
const BacklogBodyBytes = 64 << 10

// BacklogBody returns the body of a message of a Backlog.
func BacklogBody(number uint32) string {
	return strings.Repeat(fmt.Sprintf("body %010d,", number), BacklogBodyBytes/16)
}

// backlogBodies is a store that makes the bodies of a Backlog anew for each read.
type backlogBodies struct{ message.Digests }

// Keeps is true for every length.
func (backlogBodies) Keeps(int) bool { return true }

// Append notes the number of the message as the offset of its body.
func (backlogBodies) Append(text string, digest uint64) message.Body {
	var number uint32
	if _, err := fmt.Sscanf(text[:15], "body %d", &number); err != nil {
		panic(err)
	}
	return message.StoredBody(message.Place{Segment: 1, Offset: number}, uint32(len(text)), digest) //nolint:gosec // 64 KiB
}

// Read makes the body.
func (backlogBodies) Read(b message.Body) (message.Body, error) {
	return message.NewBody(BacklogBody(b.Place().Offset)), nil
}

// Backlog returns a state with messages in the queue orders.fifo, sent at sentAt, whose bodies are not in memory.
func Backlog(tb testing.TB, sentAt time.Time, messages int) (snapshot.Position, *queue.Broker) {
	tb.Helper()
	broker, now := queue.New(), queue.Timestamp(sentAt.UnixMilli())
	broker.UseStore(backlogBodies{})
	do := func(cmd queue.Command) {
		if _, err := broker.Apply(now, cmd); err != nil {
			tb.Fatal(err)
		}
		broker.TakeEvents(nil)
	}
	const name = "orders.fifo"
	do(&queue.SetFormatVersion{Version: format.CurrentVersion})
	do(&queue.SetClusterSetting{Name: queue.SettingClusterID, Value: "another"})
	do(&queue.SetClusterSetting{Name: queue.SettingReceiptKey, Value: strings.Repeat("7f", 16)})
	do(&queue.CreateQueue{Queue: name, Attributes: []queue.Attribute{{Name: "FifoQueue", Value: "true"}}})
	for i := range messages {
		do(&queue.SendMessages{Queue: name, Entries: []queue.SendEntry{{
			Body: BacklogBody(uint32(i)), GroupID: "g", GroupIDGiven: true, //nolint:gosec // few
			DeduplicationID: fmt.Sprint(i), DeduplicationIDGiven: true,
		}}})
	}
	return snapshot.Position{Index: 7, Term: 1, At: broker.Now(), StateHash: broker.StateHash()}, broker
}

// BacklogFile is a backup of a Backlog.
func BacklogFile(tb testing.TB, sentAt time.Time, messages int) *os.File {
	tb.Helper()
	file, err := os.Create(filepath.Join(tb.TempDir(), "backlog.backup"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = file.Close() }) // it was only read
	at, broker := Backlog(tb, sentAt, messages)
	if err := snapshot.Write(file, at, broker.Freeze()); err != nil {
		tb.Fatal(err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		tb.Fatal(err)
	}
	return file
}
