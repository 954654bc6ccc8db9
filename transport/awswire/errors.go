package awswire

import (
	"strconv"
	"unicode/utf8"
)

// Error is an error answer in the words of both protocols.
type Error struct {
	Type    string // JSON __type, with namespace
	Code    string // code of the Query protocol, also in x-amzn-query-error
	Status  int    // HTTP status
	Message string
}

// Error returns the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Fault returns Sender or Receiver, by the status.
func (e *Error) Fault() string {
	if e.Status >= 500 {
		return "Receiver"
	}
	return "Sender"
}

const coral = "com.amazon.coral.service#"

func serializationError(text string) *Error {
	return &Error{Type: coral + "SerializationException", Code: "SerializationException", Status: 400, Message: text}
}

func malformedJSON(at int, what string) *Error {
	return serializationError("The request body is not valid JSON: " + what + " at byte " + strconv.Itoa(at) + ".")
}

func malformedForm(what string) *Error {
	return &Error{
		Type: coral + "SerializationException", Code: "MalformedQueryString", Status: 400,
		Message: "The query string contains a syntax error: " + what + ".",
	}
}

// notConvertible returns the error for a JSON value of another kind than the model's (sqs.md 1.2).
func notConvertible(got, want string) *Error {
	return serializationError(got + " can not be converted to " + want)
}

func notAnInteger(value, name string) *Error {
	return &Error{
		Type: coral + "InvalidParameterValueException", Code: "InvalidParameterValue", Status: 400,
		Message: "Value " + value + " for parameter " + name + " is invalid. Reason: Must be an integer.",
	}
}

const (
	// messageBytesMax is longer than any message that quotes no value.
	messageBytesMax = 1024
	// A longer message keeps its beginning, and its end, which has the reason.
	messageHeadBytes = 96
	messageTailBytes = 256
)

// Shorten cuts a long quoted value out of a message.
func Shorten(message string) string {
	if len(message) <= messageBytesMax {
		return message
	}
	head, tail := messageHeadBytes, len(message)-messageTailBytes
	for head > 0 && !utf8.RuneStart(message[head]) {
		head--
	}
	for tail < len(message) && !utf8.RuneStart(message[tail]) {
		tail++
	}
	return message[:head] + "..." + message[tail:]
}

// AppendJSONError appends the body of an error answer in the JSON protocol.
func AppendJSONError(dst []byte, e *Error) []byte {
	dst = append(dst, `{"__type":`...)
	dst = appendJSONString(dst, e.Type)
	dst = append(dst, `,"message":`...)
	dst = appendJSONString(dst, Shorten(e.Message))
	return append(dst, '}')
}

// AppendXMLError appends the body of an error answer in the Query protocol. detail adds an empty element
// Detail.
func AppendXMLError(dst []byte, namespace, requestID string, e *Error, detail bool) []byte {
	dst = append(dst, xmlProlog...)
	dst = append(dst, `<ErrorResponse xmlns="`...)
	dst = append(dst, namespace...)
	dst = append(dst, `"><Error>`...)
	dst = appendElement(dst, "Type", e.Fault())
	dst = appendElement(dst, "Code", e.Code)
	dst = appendElement(dst, "Message", Shorten(e.Message))
	if detail {
		dst = append(dst, `<Detail/>`...)
	}
	dst = append(dst, `</Error>`...)
	dst = appendElement(dst, "RequestId", requestID)
	return append(dst, `</ErrorResponse>`...)
}
