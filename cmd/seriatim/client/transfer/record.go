package transfer

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	api "github.com/seriatimq/seriatim/transport/grpc/client"
)

// Record is a message in a line of a file. Only the fields up to EnqueueAtMs are sent by an import; the
// others tell about the exported message.
type Record struct {
	Body             *string              `json:"body"`
	BodyEncoding     string               `json:"bodyEncoding,omitempty"` // base64; empty: text
	Format           string               `json:"format,omitempty"`       // bytes or amqp; empty: that of the body
	AMQP             *AMQP                `json:"amqp,omitempty"`
	Changes          []Change             `json:"changes,omitempty"`
	Attributes       map[string]Attribute `json:"attributes,omitempty"`
	GroupID          string               `json:"groupId,omitempty"`
	DeduplicationID  string               `json:"deduplicationId,omitempty"`
	TraceHeader      string               `json:"traceHeader,omitempty"`
	EnqueueAtMs      int64                `json:"enqueueAtMs,omitempty"` // of a scheduled message
	Properties       map[string]Attribute `json:"properties,omitempty"`  // of AMQP, as changed; sent in AMQP and Changes
	MessageID        string               `json:"messageId,omitempty"`
	SequenceNumber   string               `json:"sequenceNumber,omitempty"`
	State            string               `json:"state,omitempty"`
	SentAtMs         int64                `json:"sentAtMs,omitempty"`
	ReceiveCount     int64                `json:"receiveCount,omitempty"`
	SenderID         string               `json:"senderId,omitempty"`
	DeadLetterSource string               `json:"deadLetterSource,omitempty"`
}

// AMQP has the encoded sections of an AMQP message. Its body is absent if Body tells it.
type AMQP struct {
	Sections []byte `json:"sections"`
	Body     []byte `json:"body,omitempty"`
}

// Change is a property that was changed after the message was sent. Value is encoded as in AMQP.
type Change struct {
	System bool   `json:"system,omitempty"`
	Name   string `json:"name"`
	Value  []byte `json:"value,omitempty"` // empty: removed
}

// Names of formats.
const (
	formatBytes = "bytes"
	formatAMQP  = "amqp"
)

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
	m := p.GetMessage()
	body, encoding := Body(m)
	r := Record{
		Body: &body, BodyEncoding: encoding, GroupID: m.GetGroupId(), DeduplicationID: m.GetDeduplicationId(),
		TraceHeader: m.GetTraceHeader(),
		MessageID:   m.GetMessageId(), SentAtMs: m.GetSentAtMs(), ReceiveCount: m.GetReceiveCount(), SenderID: m.GetSenderId(),
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
	for _, c := range m.GetChanges() {
		r.Changes = append(r.Changes, Change{System: c.GetSystem(), Name: c.GetName(), Value: c.GetValue()})
	}
	switch m.GetFormat() {
	case api.FormatBytes:
		r.Format = formatBytes
	case api.FormatAMQP:
		r.Format, r.AMQP = formatAMQP, &AMQP{Sections: m.GetAmqp().GetSections(), Body: m.GetAmqp().GetBody()}
	}
	for name, a := range m.GetAttributes() {
		into := &r.Attributes
		if r.AMQP != nil && !slices.Contains(m.GetAmqp().GetAttributesBeside(), name) {
			into = &r.Properties
		}
		if *into == nil {
			*into = make(map[string]Attribute, len(m.GetAttributes()))
		}
		(*into)[name] = attributeOf(a)
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
	if err := r.check(); err != nil {
		return nil, err
	}
	for name, a := range r.Attributes {
		if (a.Text == nil) == (a.Binary == nil) {
			return nil, fmt.Errorf("the attribute %q needs either text or binary", name)
		}
	}
	return r, nil
}

// check checks the body and the format.
func (r *Record) check() error {
	switch {
	case r.Body == nil:
		return errors.New("not a message: the body is missing")
	case r.Format != "" && r.Format != formatBytes && r.Format != formatAMQP:
		return fmt.Errorf("the format %q is neither bytes nor amqp", r.Format)
	case (r.Format == formatAMQP) != (r.AMQP != nil):
		return errors.New("a message with the format amqp needs amqp, and no other message has it")
	case r.BodyEncoding != "" && r.BodyEncoding != encodingBase64:
		return fmt.Errorf("the encoding %q of the body is not base64", r.BodyEncoding)
	}
	if _, err := r.content(); err != nil {
		return fmt.Errorf("the body is not base64: %w", err)
	}
	return nil
}

// content returns the decoded body.
func (r *Record) content() ([]byte, error) {
	if r.BodyEncoding == encodingBase64 {
		return base64.StdEncoding.DecodeString(*r.Body)
	}
	return []byte(*r.Body), nil
}

// setContent sets the body of the message to send.
func (r *Record) setContent(m *api.Message) {
	content, _ := r.content() // check decoded it
	for _, c := range r.Changes {
		m.Changes = append(m.Changes, &api.PropertyChange{System: c.System, Name: c.Name, Value: c.Value})
	}
	switch {
	case r.AMQP != nil:
		m.Amqp = &api.AMQPContent{Sections: r.AMQP.Sections, Body: r.AMQP.Body}
		if len(content) > 0 && len(r.AMQP.Body) == 0 {
			m.BodyBytes = content
		}
	case r.Format == formatBytes:
		m.BodyBytes = content
	default:
		api.SetContent(m, string(content))
	}
}

// message returns the message to send to a queue. newID replaces the deduplication id by the id of
// the exported message, or by its line.
func (r *Record) message(fifo, newID bool, line int64) *api.Message {
	m := &api.Message{TraceHeader: r.TraceHeader, EnqueueAtMs: r.EnqueueAtMs}
	r.setContent(m)
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
