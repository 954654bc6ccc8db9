package grpc

import (
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/rendition"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// unknownFormat is the format of a message with several bodies, which package queue refuses.
const unknownFormat = 255

// domainContent converts the content of a message that is not only text. bytes is nil if it is absent.
func domainContent(text string, bytes []byte, amqp *seriatimpb.AMQPContent, changes []*seriatimpb.PropertyChange) (
	body string, encoded *queue.Encoded) {
	encoded = &queue.Encoded{}
	switch {
	case text != "" && (bytes != nil || amqp != nil) || bytes != nil && len(amqp.GetBody()) > 0:
		encoded.Format = unknownFormat
	case amqp != nil:
		encoded.Format, encoded.Sections, body = message.FormatAMQP, string(amqp.GetSections()), string(amqp.GetBody())
		if bytes != nil {
			body = rendition.Data(string(bytes))
		}
	case bytes != nil:
		encoded.Format, body = message.FormatBytes, string(bytes)
	default:
		body = text
	}
	sorted, refused := encoded.With(domainChanges(changes))
	if refused != nil { // package queue refuses them again, for this message
		encoded.Changes = domainChanges(changes)
		return body, encoded
	}
	return body, sorted
}

func domainChanges(changes []*seriatimpb.PropertyChange) []queue.PropertyChange {
	out := make([]queue.PropertyChange, 0, len(changes))
	for _, c := range changes {
		one := queue.PropertyChange{Name: c.GetName(), Value: string(c.GetValue())}
		if c.GetSystem() {
			one.Scope = message.ScopeSystem
		}
		out = append(out, one)
	}
	return out
}

// wireContent converts the content of a delivery that is not only text, and returns its attributes.
func wireContent(out *seriatimpb.Message, m *queue.ReceivedMessage) []queue.MessageAttribute {
	for _, c := range m.Encoded.Changes {
		out.Changes = append(out.Changes, &seriatimpb.PropertyChange{
			System: c.Scope == message.ScopeSystem, Name: c.Name, Value: []byte(c.Value),
		})
	}
	content := rendition.Message{Body: m.Body.String(), Attributes: m.Attributes, Encoded: m.Encoded}
	switch m.Encoded.Format {
	case message.FormatText:
		out.Body = content.Body
	case message.FormatBytes:
		out.Format, out.BodyBytes = seriatimpb.MessageFormat_MESSAGE_FORMAT_BYTES, []byte(content.Body)
	default:
		out.Format = seriatimpb.MessageFormat_MESSAGE_FORMAT_AMQP
		out.Amqp = &seriatimpb.AMQPContent{Sections: []byte(m.Encoded.Sections)}
		for i := range m.Attributes {
			out.Amqp.AttributesBeside = append(out.Amqp.AttributesBeside, m.Attributes[i].Name)
		}
		if payload, ok := content.Payload(); ok {
			out.BodyBytes = []byte(payload)
		}
		if !rendition.IsPlainData(content.Body) {
			out.Amqp.Body = []byte(content.Body)
		}
	}
	return content.All()
}

// groupID returns the id of a message group. If it is given, but empty, it is that of the empty group.
func groupID(id *string) string {
	if id != nil && *id == "" {
		return message.EmptyGroup
	}
	if id == nil {
		return ""
	}
	return *id
}
