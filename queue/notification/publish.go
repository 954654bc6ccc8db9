package notification

import (
	"strings"
	"unicode/utf8"

	"github.com/seriatimq/seriatim/queue/jsontext"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/message"
)

// Error is the error of a publish. Its code is InvalidParameter, which only SNS has.
type Error string

// Error returns the text.
func (e Error) Error() string { return string(e) }

// Errors of Publish, with the texts recorded at SNS.
const (
	ErrSubject      Error = "Invalid parameter: Subject"
	ErrEmptyMessage Error = "Invalid parameter: Empty message"
	ErrTooLong      Error = "Invalid parameter: Message too long"
	ErrNotJSON      Error = "Invalid parameter: Message Structure - JSON message body failed to parse"
	ErrNoDefault    Error = "Invalid parameter: Message Structure - No default entry in JSON message body"
)

// CheckSubject checks a given subject: 1 to 99 characters without line breaks (SNS API), which an
// envelope can carry.
func CheckSubject(subject string) error {
	if subject == "" || utf8.RuneCountInString(subject) > limits.SubjectLengthMax ||
		strings.ContainsAny(subject, "\r\n") || message.BadCharacter(subject) {
		return ErrSubject
	}
	return nil
}

// CheckNotEmpty refuses an empty message (recorded at SNS).
func CheckNotEmpty(text string) error {
	if text == "" {
		return ErrEmptyMessage
	}
	return nil
}

// CheckSize refuses a message that exceeds most bytes with its attributes, 262,144 in the SNS API. The
// text counts as it was before QueueText.
func CheckSize(bytes, most int64) error {
	if bytes > most {
		return ErrTooLong
	}
	return nil
}

const (
	defaultEntry = "default"
	queueEntry   = "sqs"

	// structureDepthMax bounds the nesting of a message structure, as Jackson does.
	structureDepthMax = 1000
)

// QueueText returns the text for queues of a message with MessageStructure=json: the entry for sqs,
// or else default, which is required (SNS API). Check the text like a message: it may be empty, or
// contain invalid characters as JSON escapes.
func QueueText(structure string) (string, error) {
	read, err := jsontext.Parse(structure, structureDepthMax)
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
