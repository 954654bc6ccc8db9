package snapshot

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/message"
)

// TestPublicationIsWrittenOnce checks that a publication is written with the first of the messages
// that refer to it, and that the restored messages share it again.
func TestPublicationIsWrittenOnce(t *testing.T) {
	const topic, subscriptions = "arn:aws:sns:us-east-1:000000000000:t.fifo", 100
	broker := queue.New()
	apply(t, broker, &queue.CreateTopic{Topic: "t.fifo", TopicARN: topic,
		Attributes: []queue.Attribute{{Name: "FifoTopic", Value: "true"}}})
	for i := range subscriptions {
		name := fmt.Sprint("q", i, ".fifo")
		apply(t, broker, &queue.CreateQueue{Queue: name, Attributes: []queue.Attribute{{Name: "FifoQueue", Value: "true"}}})
		apply(t, broker, &queue.Subscribe{Topic: "t.fifo", Endpoint: "arn:aws:sqs:us-east-1:000000000000:" + name})
	}
	position := positionOf(broker)
	before, size := len(stored(t, position, broker)), broker.View().StateBytes()
	const body, messages = 10 << 10, 3
	for i := range messages {
		apply(t, broker, &queue.Publish{Topic: "t.fifo", Entries: []queue.PublishEntry{{
			Message: strings.Repeat("x", body), GroupID: "g", GroupIDGiven: true, DeduplicationID: fmt.Sprint(i),
			DeduplicationIDGiven: true,
		}}})
	}
	const each = messages * subscriptions // deliveries
	data := stored(t, positionOf(broker), broker)
	if grown := len(data) - before; grown < messages*body || grown > messages*body+each*512 {
		t.Errorf("%d messages of %d bytes in %d queues take %d bytes of a snapshot", messages, body, subscriptions, grown)
	}
	_, restored, contents, err := ReadContents(bytes.NewReader(data), message.Memory{})
	if err != nil {
		t.Fatal(err)
	}
	if contents.Publications != messages || contents.Messages != each || contents.Subscriptions != subscriptions {
		t.Errorf("read %+v", contents)
	}
	if grown := broker.View().StateBytes() - size; grown > messages*(body+1024)+each*1024 ||
		restored.View().StateBytes() != broker.View().StateBytes() {
		t.Errorf("the state grew by %d bytes to %d, restored it has %d", grown, broker.View().StateBytes(), restored.View().StateBytes())
	}
	sound(t, data)
}
