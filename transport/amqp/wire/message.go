package wire

import "iter"

// Message has the sections of an encoded message. All of them refer to its bytes. Sections that the
// message does not have are absent.
type Message struct {
	Header                Value // a list; see ReadHeader
	DeliveryAnnotations   Value // a map
	MessageAnnotations    Value // a map
	Properties            Value // a list; see ReadProperties
	ApplicationProperties Value // a map
	Footer                Value // a map

	// Bare is the part that no node on the way changes: properties, application properties and body,
	// with their descriptors.
	Bare []byte
	// Body has the encoded sections of the body; BodyCode is their code, 0 for a message without.
	Body     []byte
	BodyCode uint64
}

// ReadMessage finds the sections of an encoded message, and checks their types and their order.
func ReadMessage(b []byte) (Message, error) {
	var m Message
	last := uint64(0)
	bare, body, end := len(b), len(b), len(b)
	for rest := b; len(rest) > 0; {
		v, behind, err := Scan(rest)
		if err != nil {
			return Message{}, err
		}
		at := len(b) - len(rest)
		rest = behind
		code, value, ok := v.Descriptor()
		if !ok || !m.set(code, value) {
			return Message{}, malformed("a message has a section of a wrong type")
		}
		isBody := code >= CodeData && code <= CodeValue
		if code < last || code == last && code != CodeData && code != CodeSequence || isBody && m.BodyCode != 0 && code != m.BodyCode {
			return Message{}, malformed("the sections of a message are in a wrong order")
		}
		last = code
		switch {
		case isBody && m.BodyCode == 0:
			m.BodyCode, body = code, at
			bare = min(bare, at)
		case code == CodeFooter:
			end = at
		case code >= CodeProperties:
			bare = min(bare, at)
		}
	}
	m.Bare, m.Body = b[min(bare, end):end:end], b[min(body, end):end:end]
	return m, nil
}

// set notes a section. It reports false if the section has a wrong type.
func (m *Message) set(code uint64, v Value) bool {
	want := Map
	switch code {
	case CodeHeader:
		m.Header, want = v, List
	case CodeDeliveryAnnotations:
		m.DeliveryAnnotations = v
	case CodeMessageAnnotations:
		m.MessageAnnotations = v
	case CodeProperties:
		m.Properties, want = v, List
	case CodeApplicationProperties:
		m.ApplicationProperties = v
	case CodeData:
		want = Binary
	case CodeSequence:
		want = List
	case CodeValue:
		return true
	case CodeFooter:
		m.Footer = v
	default:
		return false
	}
	return v.Kind() == want
}

// BodySections returns the values of the body's sections: binary values, lists, or one value.
func (m *Message) BodySections() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		for rest := m.Body; len(rest) > 0; {
			n := length(rest)
			_, v, _ := Value(rest[:n:n]).Described()
			if !yield(v) {
				return
			}
			rest = rest[n:]
		}
	}
}

// Header is the section that tells a node how to deliver a message.
type Header struct {
	Durable       bool
	Priority      Optional[uint8]
	TTL           Optional[uint32] // ms
	FirstAcquirer bool
	DeliveryCount uint32 // earlier deliveries without success
}

// Append appends the section.
func (h *Header) Append(b []byte) []byte {
	c := compose(b, CodeHeader)
	c.bool(h.Durable)
	c.ubyte(h.Priority)
	c.optionalUint32(h.TTL)
	c.bool(h.FirstAcquirer)
	c.uint32(h.DeliveryCount) // some clients show an absent one as unknown
	return c.end()
}

// ReadHeader reads a header. An absent one has the defaults.
func ReadHeader(list Value) (Header, error) {
	if list.IsNull() {
		return Header{}, nil
	}
	f := fieldsOf("header", list)
	return Header{
		Durable: f.bool(), Priority: f.ubyte(), TTL: f.uint32(), FirstAcquirer: f.bool(), DeliveryCount: f.uint32().Value,
	}, f.done()
}

// Properties is the section with the standard properties of a message.
type Properties struct {
	MessageID          Value // ulong, uuid, binary or string
	UserID             []byte
	To                 Value
	Subject            Optional[string]
	ReplyTo            Value
	CorrelationID      Value // as MessageID
	ContentType        string
	ContentEncoding    string
	AbsoluteExpiryTime Optional[int64] // Unix ms
	CreationTime       Optional[int64] // Unix ms
	GroupID            Optional[string]
	GroupSequence      Optional[uint32]
	ReplyToGroupID     Optional[string]
}

// Append appends the section.
func (p *Properties) Append(b []byte) []byte {
	c := compose(b, CodeProperties)
	c.value(p.MessageID)
	c.binary(p.UserID)
	c.value(p.To)
	c.text(p.Subject)
	c.value(p.ReplyTo)
	c.value(p.CorrelationID)
	c.symbol(p.ContentType)
	c.symbol(p.ContentEncoding)
	c.timestamp(p.AbsoluteExpiryTime)
	c.timestamp(p.CreationTime)
	c.text(p.GroupID)
	c.optionalUint32(p.GroupSequence)
	c.text(p.ReplyToGroupID)
	return c.end()
}

// ReadProperties reads properties. Absent ones are empty.
func ReadProperties(list Value) (Properties, error) {
	if list.IsNull() {
		return Properties{}, nil
	}
	f := fieldsOf("properties", list)
	return Properties{
		MessageID: f.id(), UserID: f.binary(), To: f.value(), Subject: f.text(), ReplyTo: f.value(), CorrelationID: f.id(),
		ContentType: f.symbol(), ContentEncoding: f.symbol(), AbsoluteExpiryTime: f.timestamp(), CreationTime: f.timestamp(),
		GroupID: f.text(), GroupSequence: f.uint32(), ReplyToGroupID: f.text(),
	}, f.done()
}

// id reads the id of a message.
func (f *fields) id() Value {
	v := f.value()
	switch v.Kind() {
	case Null, Ulong, UUID, Binary, String:
		return v
	}
	f.wrong()
	return nil
}
