package rendition

import (
	"errors"
	"strings"

	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/property"
)

// Message is a message as it is stored.
type Message struct {
	Body       string
	Attributes []message.MessageAttribute
	Encoded    *message.Encoded // nil for text
}

// Payload returns the bytes that an application sent. It is not ok for an AMQP body that is no bytes
// or string: a sequence, or a value of another type. The payload is then the encoded body.
func (m *Message) Payload() (payload string, ok bool) {
	if m.Encoded == nil || m.Encoded.Format != message.FormatAMQP || m.Body == "" {
		return m.Body, true
	}
	var parts []string
	for rest := m.Body; rest != ""; {
		var s section
		if s, rest, ok = nextSection(rest); !ok {
			return m.Body, false
		}
		var part string
		switch s.kind {
		case sectionFooter:
			continue
		case sectionData:
			part, ok = binaryOf(s.value, codeBinary8)
		case sectionValue:
			part, ok = payloadOfValue(s.value)
		default:
			ok = false
		}
		if !ok {
			return m.Body, false
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ""), true
}

// payloadOfValue reads the value of an amqp-value section.
func payloadOfValue(value string) (payload string, ok bool) {
	if value == encodedNull {
		return "", true
	}
	if payload, ok = binaryOf(value, codeString8); ok {
		return payload, true
	}
	return binaryOf(value, codeBinary8)
}

// IsPlainData reports whether an AMQP body is one data section in its shortest encoding, and not empty,
// so that its payload tells the body.
func IsPlainData(body string) bool {
	s, rest, ok := nextSection(body)
	if !ok || rest != "" || s.kind != sectionData {
		return false
	}
	payload, ok := binaryOf(s.value, codeBinary8)
	return ok && payload != "" && body == Data(payload)
}

// Data returns a data section.
func Data(payload string) string {
	b := append(make([]byte, 0, len(payload)+8), codeDescribed, codeSmallULong, sectionData)
	return string(appendBinary(b, codeBinary8, payload))
}

// Errors about AMQP messages.
var (
	errSection = errors.New("the message is not a sequence of AMQP 1.0 sections")
	errOrder   = errors.New("the sections of the message are out of order, repeated, or split at another place than before the body")
)

// Check checks all of an AMQP message that renditions and rules read: its sections before the body, and
// the body with the footer.
func Check(sections, body string) error {
	var c checking
	if err := c.walk(sections, sectionHeader, sectionApplication); err != nil {
		return err
	}
	if err := c.walk(body, sectionData, sectionFooter); err != nil {
		return err
	}
	return property.Check(c.properties, c.application)
}

// checking is the state of a Check.
type checking struct {
	last                    byte // kind of the last section
	properties, application string
}

// walk checks the kinds of sections and their order.
func (c *checking) walk(rest string, first, last byte) error {
	for rest != "" {
		s, after, ok := nextSection(rest)
		if !ok {
			return errSection
		}
		repeats := s.kind == c.last && (s.kind == sectionData || s.kind == sectionSequence)
		mixed := isBody(s.kind) && isBody(c.last)
		if s.kind < first || s.kind > last || (s.kind <= c.last || mixed) && !repeats {
			return errOrder
		}
		switch s.kind {
		case sectionProperties:
			c.properties = s.whole
		case sectionApplication:
			c.application = s.whole
		}
		c.last, rest = s.kind, after
	}
	return nil
}

// Split divides an encoded message into the sections before its body, and the body with its footer.
// It checks them.
func Split(encoded string) (sections, body string, err error) {
	body = encoded
	for {
		s, rest, ok := nextSection(body)
		if !ok || s.kind >= sectionData {
			break
		}
		body = rest
	}
	sections = encoded[:len(encoded)-len(body)]
	if err := Check(sections, body); err != nil {
		return "", "", err
	}
	return sections, body, nil
}

func isBody(kind byte) bool { return kind >= sectionData && kind <= sectionValue }

// find returns a section of the sections before a body, empty if there is none.
func find(sections string, kind byte) string {
	for sections != "" {
		s, rest, ok := nextSection(sections)
		if !ok {
			return ""
		}
		if s.kind == kind {
			return s.whole
		}
		sections = rest
	}
	return ""
}
