package reference

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Attribute is a message attribute. Its Type begins with String, Number or Binary.
type Attribute struct{ Name, Type, Value string }

// Handle is a receipt handle: its delivery, 0 if there is none, and the text that the client sent,
// which errors repeat.
type Handle struct {
	Delivery int
	Text     string
}

const idCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" +
	"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// goodID reports whether an id has 1 to 128 characters of sqs.md 4.5.
func goodID(id string) bool {
	for _, r := range id {
		if !strings.ContainsRune(idCharacters, r) {
			return false
		}
	}
	return len(id) >= 1 && len(id) <= 128
}

func badID(parameter, value string) *Error {
	return &Error{
		"InvalidParameterValue",
		"Value " + value + " for parameter " + parameter + " is invalid. Reason: " + parameter +
			" can only include alphanumeric and punctuation characters. 1 to 128 in length.",
	}
}

// goodText reports whether a text meets sqs.md 2.7, row 3.
func goodText(text string) bool {
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return false
			}
		}
		switch {
		case r == 0x9, r == 0xA, r == 0xD, r >= 0x20 && r <= 0xD7FF,
			r >= 0xE000 && r <= 0xFFFD, r >= 0x10000 && r <= 0x10FFFF:
		default:
			return false
		}
	}
	return true
}

// size returns the size of the body and of name, type and value of each attribute (sqs.md 2.7).
func (e SendEntry) size() int64 {
	n := len(e.Body)
	for _, a := range e.Attributes {
		n += len(a.Name) + len(a.Type) + len(a.Value)
	}
	return int64(n) + e.Parts.size()
}

// reservedValues are the attributes of servicebus.md 5.3, which the server uses itself in queues
// with ReservedAttributesEnabled=true.
type reservedValues struct {
	dueAt     int64
	scheduled bool
	partition string
	rest      []Attribute
	// timeToLive is an option only; 0: not asked for.
	timeToLive int64
}

func splitReserved(s Settings, e SendEntry) (reservedValues, *Error) {
	if !s.Reserved {
		return reservedValues{rest: e.Attributes}, nil
	}
	var v reservedValues
	for _, a := range e.Attributes {
		switch a.Name {
		case "seriatim.ScheduledEnqueueTime":
			at, ok := scheduledTime(a)
			if !ok {
				return v, &Error{Code: "InvalidParameterValue"}
			}
			v.dueAt, v.scheduled = at, true
		case "seriatim.PartitionKey":
			if !goodID(a.Value) || a.Type != "String" {
				return v, &Error{Code: "InvalidParameterValue"}
			}
			v.partition = a.Value
		default:
			v.rest = append(v.rest, a)
		}
	}
	// servicebus.md 2.3: if both are set and differ, the send is refused.
	if v.partition != "" && e.Group != nil && *e.Group != v.partition {
		return v, &Error{Code: "InvalidParameterValue"}
	}
	return v, nil
}

// checkOptions applies the rules of reserved attributes to options, in FIFO queues also if
// ReservedAttributesEnabled is off (servicebus.md 5.6, gRPC).
func checkOptions(q *Queue, e SendEntry) *Error {
	if e.EnqueueAt == nil && e.Partition == nil && e.TimeToLive == nil {
		return nil
	}
	if !q.FIFO {
		return &Error{Code: "UnsupportedOperation"}
	}
	if e.TimeToLive != nil && *e.TimeToLive < 0 || e.EnqueueAt != nil && *e.EnqueueAt < 0 ||
		e.Partition != nil && (!goodNative(*e.Partition, true) || e.Group != nil && *e.Group != *e.Partition) {
		return &Error{Code: "InvalidParameterValue"}
	}
	return nil
}

func (v *reservedValues) takeOptions(e SendEntry) {
	if e.EnqueueAt != nil {
		v.dueAt, v.scheduled = *e.EnqueueAt, true
	}
	if e.Partition != nil {
		v.partition = *e.Partition
	}
	v.timeToLive = or(e.TimeToLive, 0)
}

// scheduledTime parses milliseconds since 1970, or RFC 3339.
func scheduledTime(a Attribute) (int64, bool) {
	switch a.Type {
	case "Number":
		at, err := strconv.ParseInt(a.Value, 10, 64)
		return at, err == nil && at >= 0
	case "String":
		at, err := time.Parse(time.RFC3339, a.Value)
		return at.UnixMilli(), err == nil
	}
	return 0, false
}
