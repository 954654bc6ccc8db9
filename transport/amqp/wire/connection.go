package wire

// Open begins a connection. The engine reads no capabilities.
type Open struct {
	ContainerID  string
	Hostname     string
	MaxFrameSize Optional[uint32]
	ChannelMax   Optional[uint16]
	IdleTimeout  Optional[uint32] // ms
	Properties   Value
}

// Append appends the performative.
func (o *Open) Append(b []byte) []byte {
	c := compose(b, CodeOpen)
	c.string(o.ContainerID)
	c.text(Optional[string]{Value: o.Hostname, Set: o.Hostname != ""})
	c.optionalUint32(o.MaxFrameSize)
	c.ushort(o.ChannelMax)
	c.optionalUint32(o.IdleTimeout)
	c.null() // outgoing locales
	c.null() // incoming locales
	c.null() // offered capabilities
	c.null() // desired capabilities
	c.value(o.Properties)
	return c.end()
}

// ReadOpen reads an open.
func ReadOpen(list Value) (Open, error) {
	f := fieldsOf("open", list)
	id := f.text()
	if !id.Set {
		f.wrong()
	}
	o := Open{
		ContainerID: id.Value, Hostname: f.text().Value, MaxFrameSize: f.uint32(), ChannelMax: f.ushort(), IdleTimeout: f.uint32(),
	}
	for range 4 { // locales and capabilities
		f.value()
	}
	o.Properties = f.kind(Map)
	return o, f.done()
}

// Begin begins a session.
type Begin struct {
	RemoteChannel  Optional[uint16] // only in the answer
	NextOutgoingID uint32
	IncomingWindow uint32
	OutgoingWindow uint32
	HandleMax      Optional[uint32]
}

// Append appends the performative.
func (g *Begin) Append(b []byte) []byte {
	c := compose(b, CodeBegin)
	c.ushort(g.RemoteChannel)
	c.uint32(g.NextOutgoingID)
	c.uint32(g.IncomingWindow)
	c.uint32(g.OutgoingWindow)
	c.optionalUint32(g.HandleMax)
	return c.end()
}

// ReadBegin reads a begin.
func ReadBegin(list Value) (Begin, error) {
	f := fieldsOf("begin", list)
	return Begin{
		RemoteChannel: f.ushort(), NextOutgoingID: f.required(), IncomingWindow: f.required(), OutgoingWindow: f.required(),
		HandleMax: f.uint32(),
	}, f.done()
}

// Error is the reason why a link, a session or a connection ends, or a message is rejected.
type Error struct {
	Condition   string // a symbol
	Description string
	Info        Value // a map
}

// Error returns the condition and the description.
func (e *Error) Error() string {
	if e.Description == "" {
		return e.Condition
	}
	return e.Condition + ": " + e.Description
}

// Append appends the described error with all its fields: a client of Service Bus reads the last one
// without a look at their number.
func (e *Error) Append(b []byte) []byte {
	c := compose(b, CodeError)
	c.symbol(e.Condition)
	c.text(Optional[string]{Value: e.Description, Set: e.Description != ""})
	c.value(e.Info)
	c.pad()
	return c.end()
}

// error reads a field with an error, which may be absent.
func (f *fields) error() *Error {
	v := f.value()
	if v == nil {
		return nil
	}
	code, list, ok := v.Descriptor()
	if !ok || code != CodeError {
		f.wrong()
		return nil
	}
	in := fieldsOf("error", list)
	e := &Error{Condition: in.symbol(), Description: in.text().Value, Info: in.kind(Map)}
	if in.err != nil || e.Condition == "" {
		f.wrong()
	}
	return e
}

func (c *composite) error(e *Error) {
	if e == nil {
		c.null()
		return
	}
	c.field()
	c.b = e.Append(c.b)
}

// AppendEnd appends the performative that ends a session. The error may be nil.
func AppendEnd(b []byte, e *Error) []byte { return appendEnding(b, CodeEnd, e) }

// AppendClose appends the performative that ends a connection. The error may be nil.
func AppendClose(b []byte, e *Error) []byte { return appendEnding(b, CodeClose, e) }

func appendEnding(b []byte, code uint64, e *Error) []byte {
	c := compose(b, code)
	c.error(e)
	return c.end()
}

// ReadEnding reads the error of an end or a close, nil if there is none.
func ReadEnding(list Value) (*Error, error) {
	f := fieldsOf("end or close", list)
	e := f.error()
	return e, f.done()
}
