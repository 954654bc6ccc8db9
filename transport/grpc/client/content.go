package client

import (
	"unicode/utf8"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// AMQPContent is a message of AMQP 1.0, as encoded by its sender.
type AMQPContent = seriatimpb.AMQPContent

// PropertyChange sets or removes a property after the message was sent.
type PropertyChange = seriatimpb.PropertyChange

// Formats of received messages.
const (
	FormatText  = seriatimpb.MessageFormat_MESSAGE_FORMAT_TEXT
	FormatBytes = seriatimpb.MessageFormat_MESSAGE_FORMAT_BYTES
	FormatAMQP  = seriatimpb.MessageFormat_MESSAGE_FORMAT_AMQP
)

// SetContent sets the body of a message: as text if SQS can carry it, otherwise as bytes.
func SetContent(m *Message, content string) {
	if content == "" || IsText(content) {
		m.Body, m.BodyBytes = content, nil
	} else {
		m.Body, m.BodyBytes = "", []byte(content)
	}
}

// Content returns the body of a delivery in any format. That of an AMQP message without data, such as
// a list, is encoded.
func Content(m *Delivery) string {
	switch {
	case m.GetFormat() == FormatText:
		return m.GetBody()
	case len(m.GetBodyBytes()) == 0:
		return string(m.GetAmqp().GetBody())
	}
	return string(m.GetBodyBytes())
}

// IsText reports whether SQS can carry a content as text: UTF-8 with the characters of XML.
func IsText(content string) bool {
	for i, r := range content {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(content[i:]); size == 1 {
				return false
			}
		}
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return false
		}
	}
	return true
}

// like returns a message with all parts of m but its ids and times.
func like(m *Message) *Message {
	return &Message{
		Body: m.GetBody(), BodyBytes: m.BodyBytes, Amqp: m.GetAmqp(), Changes: m.GetChanges(), Attributes: m.GetAttributes(),
		GroupId: m.GroupId, DeduplicationId: m.DeduplicationId, TraceHeader: m.GetTraceHeader(), PartitionKey: m.GetPartitionKey(),
	}
}
