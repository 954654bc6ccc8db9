package notification

import (
	"strings"
	"unicode/utf8"

	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/jsontext"
	"github.com/seriatimq/seriatim/queue/limits"
)

// Error is the exact text of an error of Publish. The code of all of them is
// InvalidParameter, which only SNS has.
type Error string

// Error is the text.
func (e Error) Error() string { return string(e) }

// Errors of Publish, in words recorded at SNS.
const (
	ErrSubject      Error = "Invalid parameter: Subject"
	ErrEmptyMessage Error = "Invalid parameter: Empty message"
	ErrTooLong      Error = "Invalid parameter: Message too long"
	ErrNotJSON      Error = "Invalid parameter: Message Structure - JSON message body failed to parse"
	ErrNoDefault    Error = "Invalid parameter: Message Structure - No default entry in JSON message body"
)

// CheckSubject checks a subject that was given: it has 1 to 99 characters and no line
// breaks (API of SNS), and is text that an envelope can carry.
func CheckSubject(subject string) error {
	if subject == "" || utf8.RuneCountInString(subject) > limits.SubjectLengthMax ||
		strings.ContainsAny(subject, "\r\n") || content.BadCharacter(subject) {
		return ErrSubject
	}
	return nil
}

// CheckNotEmpty refuses an empty message (recorded at SNS).
func CheckNotEmpty(message string) error {
	if message == "" {
		return ErrEmptyMessage
	}
	return nil
}

// CheckSize refuses a message that has, with its attributes, more than 262,144 bytes
// (API of SNS). The message is as it was given, whatever its structure.
func CheckSize(message string, attributes []content.MessageAttribute) error {
	if content.Size(message, attributes) > limits.PublishBytesMax {
		return ErrTooLong
	}
	return nil
}

const (
	defaultEntry = "default"
	queueEntry   = "sqs"

	// structureDepthMax is how deep a message structure may nest: Jackson
	// reads no deeper by default.
	structureDepthMax = 1000
)

// QueueText is what queues receive of a message with MessageStructure=json: the entry
// for sqs, or else the one that must be there, default (API of SNS). The text may be
// empty, and escapes in the JSON may say characters that the message itself must not
// have, so it is checked like one before it is accepted.
func QueueText(message string) (string, error) {
	read, err := jsontext.Parse(message, structureDepthMax)
	if err != nil || read.Kind() != jsontext.KindObject {
		return "", ErrNotJSON
	}
	var byDefault, forQueues jsontext.Value
	hasDefault, hasQueues := false, false
	for name, value := range read.Members() {
		if value.Kind() != jsontext.KindString {
			continue
		}
		switch name.Text() {
		case defaultEntry:
			byDefault, hasDefault = value, true
		case queueEntry:
			forQueues, hasQueues = value, true
		}
	}
	switch {
	case !hasDefault:
		return "", ErrNoDefault
	case hasQueues:
		return forQueues.Text(), nil
	}
	return byDefault.Text(), nil
}
