package transfer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	api "github.com/seriatimq/seriatim/transport/grpc/client"
)

// Record is a message in a line of a file. Only Body, GroupID, DeduplicationID, Attributes,
// TraceHeader and EnqueueAtMs are sent by an import; the others tell about the exported message.
type Record struct {
	Body             *string              `json:"body"`
	Attributes       map[string]Attribute `json:"attributes,omitempty"`
	GroupID          string               `json:"groupId,omitempty"`
	DeduplicationID  string               `json:"deduplicationId,omitempty"`
	TraceHeader      string               `json:"traceHeader,omitempty"`
	EnqueueAtMs      int64                `json:"enqueueAtMs,omitempty"` // of a scheduled message
	MessageID        string               `json:"messageId,omitempty"`
	SequenceNumber   string               `json:"sequenceNumber,omitempty"`
	State            string               `json:"state,omitempty"`
	SentAtMs         int64                `json:"sentAtMs,omitempty"`
	ReceiveCount     int64                `json:"receiveCount,omitempty"`
	SenderID         string               `json:"senderId,omitempty"`
	DeadLetterSource string               `json:"deadLetterSource,omitempty"`
}

// Attribute is a message attribute. Binary is base64 in JSON.
type Attribute struct {
	Type   string  `json:"type"`
	Text   *string `json:"text,omitempty"`
	Binary []byte  `json:"binary,omitempty"`
}

// states names the states of messages by their numbers in the API.
var states = []string{"", "visible", "in flight", "delayed", "scheduled", "deferred"}

const scheduled = "scheduled"

// RecordOf returns the record of a stored message.
func RecordOf(p *api.PeekedMessage) Record {
	m, body := p.GetMessage(), p.GetMessage().GetBody()
	r := Record{
		Body: &body, GroupID: m.GetGroupId(), DeduplicationID: m.GetDeduplicationId(), TraceHeader: m.GetTraceHeader(),
		MessageID: m.GetMessageId(), SentAtMs: m.GetSentAtMs(), ReceiveCount: m.GetReceiveCount(), SenderID: m.GetSenderId(),
		DeadLetterSource: m.GetDeadLetterSource(),
	}
	if n := m.GetSequenceNumber(); n != 0 {
		r.SequenceNumber = strconv.FormatUint(n, 10)
	}
	if s := int(p.GetState()); s < len(states) {
		r.State = states[s]
	}
	if r.State == scheduled {
		r.EnqueueAtMs = p.GetVisibleAtMs()
	}
	for name, a := range m.GetAttributes() {
		if r.Attributes == nil {
			r.Attributes = make(map[string]Attribute, len(m.GetAttributes()))
		}
		r.Attributes[name] = attributeOf(a)
	}
	return r
}

func attributeOf(a *api.Attribute) Attribute {
	if binary := a.GetBinary(); binary != nil {
		return Attribute{Type: a.GetDataType(), Binary: binary}
	}
	text := a.GetText()
	return Attribute{Type: a.GetDataType(), Text: &text}
}

// parse reads one line.
func parse(line []byte) (*Record, error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	r := &Record{}
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("not a message: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("not a message: more than one JSON value")
	}
	if r.Body == nil {
		return nil, errors.New("not a message: the body is missing")
	}
	for name, a := range r.Attributes {
		if (a.Text == nil) == (a.Binary == nil) {
			return nil, fmt.Errorf("the attribute %q needs either text or binary", name)
		}
	}
	return r, nil
}

// message returns the message to send to a queue. newID replaces the deduplication id by the id of
// the exported message, or by its line.
func (r *Record) message(fifo, newID bool, line int64) *api.Message {
	m := &api.Message{Body: *r.Body, TraceHeader: r.TraceHeader, EnqueueAtMs: r.EnqueueAtMs}
	if r.GroupID != "" {
		m.GroupId = &r.GroupID
	}
	id := r.DeduplicationID
	switch {
	case newID && r.MessageID != "":
		id = r.MessageID
	case newID:
		id = "line-" + strconv.FormatInt(line, 10)
	}
	if fifo && id != "" {
		m.DeduplicationId = &id
	}
	if !fifo {
		m.EnqueueAtMs = 0
	}
	for name, a := range r.Attributes {
		if m.Attributes == nil {
			m.Attributes = make(map[string]*api.Attribute, len(r.Attributes))
		}
		if a.Text != nil {
			m.Attributes[name] = api.TextAttribute(a.Type, *a.Text)
		} else {
			m.Attributes[name] = api.BinaryAttribute(a.Type, a.Binary)
		}
	}
	return m
}
