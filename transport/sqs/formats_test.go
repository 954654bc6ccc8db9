package sqs

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue"
	content "github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/transport/aws"
)

// Clients of SQS read messages of other protocols as text.
func TestMessagesOfOtherProtocols(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name               string
		entry              queue.SendEntry
		body, group, wants string // wants: an attribute and its value
	}{
		{"bytes", queue.SendEntry{Body: "\x00\xff", GroupID: "g", Encoded: &queue.Encoded{Format: content.FormatBytes}},
			"AP8=", "g", "seriatim.BodyEncoding=base64"},
		{"AMQP", queue.SendEntry{Body: "\x00Su\xa0\x05hello", GroupID: "\u00fc\x01", Encoded: &queue.Encoded{Format: content.FormatAMQP,
			Sections: "\x00St\xc1\x0a\x02\xa1\x05color\x54\x05"}}, "hello", "\u00fc\ufffd", "color=5"},
		{"names that SQS has not", queue.SendEntry{Body: "x", GroupID: content.EmptyGroup, Attributes: []queue.MessageAttribute{
			{Name: "a b", DataType: "String", Value: "v"}}}, "x", "", "seriatim.PropertiesOmitted=1"},
	} {
		for _, protocol := range protocols {
			f := newFixture(t)
			f.create("q.fifo", members{"FifoQueue": "true"})
			e := c.entry
			e.Native, e.GroupIDGiven, e.DeduplicationID, e.DeduplicationIDGiven = true, true, "a b", true
			f.node.mu.Lock()
			_, err := f.node.apply(&queue.SendMessages{Queue: "q.fifo", Entries: []queue.SendEntry{e}})
			f.node.mu.Unlock()
			if err != nil {
				t.Fatal(err)
			}
			got := f.ok(f.call(protocol, "ReceiveMessage", members{"QueueUrl": "q.fifo", "MessageSystemAttributeNames": []string{"All"},
				"MessageAttributeNames": []string{"All"}}))
			name, value, _ := strings.Cut(c.wants, "=")
			group := `"MessageGroupId":"` + c.group + `"`
			if protocol == aws.Query {
				group = "<Name>MessageGroupId</Name><Value>" + c.group + "</Value>"
			}
			if got.element("Body") != c.body || strings.Contains(got.body, group) != (c.group != "") ||
				!strings.Contains(got.body, name) || got.element("StringValue") != value || got.element("MD5OfBody") != bodyDigest(c.body) {
				t.Errorf("%s over %s: %s", c.name, protocol, got.body)
			}
		}
	}
}
