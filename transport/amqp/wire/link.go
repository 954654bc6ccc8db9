package wire

// Role is the role of a link endpoint.
type Role bool

// The roles.
const (
	Sender   Role = false
	Receiver Role = true
)

// Modes of settlement.
const (
	SenderUnsettled = 0
	SenderSettled   = 1
	SenderMixed     = 2

	ReceiverFirst  = 0 // the receiver settles at once
	ReceiverSecond = 1 // the receiver settles after the sender
)

// Attach begins a link. Source and target are described values.
type Attach struct {
	Name                 string
	Handle               uint32
	Role                 Role
	SenderMode           Optional[uint8]
	ReceiverMode         Optional[uint8]
	Source               Value
	Target               Value
	InitialDeliveryCount Optional[uint32] // only of senders
	MaxMessageSize       Optional[uint64]
	Properties           Value
}

// Append appends the performative.
func (a *Attach) Append(b []byte) []byte {
	c := compose(b, CodeAttach)
	c.string(a.Name)
	c.uint32(a.Handle)
	c.role(a.Role)
	c.ubyte(a.SenderMode)
	c.ubyte(a.ReceiverMode)
	c.value(a.Source)
	c.value(a.Target)
	c.null() // unsettled
	c.null() // incomplete unsettled
	c.optionalUint32(a.InitialDeliveryCount)
	c.ulong(a.MaxMessageSize)
	c.null() // offered capabilities
	c.null() // desired capabilities
	c.value(a.Properties)
	return c.end()
}

// ReadAttach reads an attach.
func ReadAttach(list Value) (Attach, error) {
	f := fieldsOf("attach", list)
	name := f.text()
	if !name.Set {
		f.wrong()
	}
	a := Attach{Name: name.Value, Handle: f.required(), Role: f.role()}
	a.SenderMode, a.ReceiverMode = f.mode(SenderMixed), f.mode(ReceiverSecond)
	a.Source, a.Target = f.kind(Described), f.kind(Described)
	f.kind(Map) // unsettled
	f.bool()    // incomplete unsettled
	a.InitialDeliveryCount, a.MaxMessageSize = f.uint32(), f.ulong()
	f.value() // offered capabilities
	f.value() // desired capabilities
	a.Properties = f.kind(Map)
	return a, f.done()
}

// role reads a boolean that must be set.
func (f *fields) role() Role {
	v := f.kind(Boolean)
	if v == nil {
		f.wrong()
	}
	is, _ := v.Bool()
	return Role(is)
}

func (f *fields) mode(most uint8) Optional[uint8] {
	m := f.ubyte()
	if m.Value > most {
		f.wrong()
	}
	return m
}

// Detach ends a link.
type Detach struct {
	Handle uint32
	Closed bool
	Error  *Error
}

// Append appends the performative.
func (d *Detach) Append(b []byte) []byte {
	c := compose(b, CodeDetach)
	c.uint32(d.Handle)
	c.bool(d.Closed)
	c.error(d.Error)
	return c.end()
}

// ReadDetach reads a detach.
func ReadDetach(list Value) (Detach, error) {
	f := fieldsOf("detach", list)
	return Detach{Handle: f.required(), Closed: f.bool(), Error: f.error()}, f.done()
}

// Flow updates the windows of a session, and the credit of a link if Handle is set.
type Flow struct {
	NextIncomingID Optional[uint32]
	IncomingWindow uint32
	NextOutgoingID uint32
	OutgoingWindow uint32
	Handle         Optional[uint32]
	DeliveryCount  Optional[uint32]
	LinkCredit     Optional[uint32]
	Available      Optional[uint32]
	Drain          bool
	Echo           bool
}

// Append appends the performative.
func (w *Flow) Append(b []byte) []byte {
	c := compose(b, CodeFlow)
	c.optionalUint32(w.NextIncomingID)
	c.uint32(w.IncomingWindow)
	c.uint32(w.NextOutgoingID)
	c.uint32(w.OutgoingWindow)
	c.optionalUint32(w.Handle)
	c.optionalUint32(w.DeliveryCount)
	c.optionalUint32(w.LinkCredit)
	c.optionalUint32(w.Available)
	c.bool(w.Drain)
	c.bool(w.Echo)
	return c.end()
}

// ReadFlow reads a flow.
func ReadFlow(list Value) (Flow, error) {
	f := fieldsOf("flow", list)
	return Flow{
		NextIncomingID: f.uint32(), IncomingWindow: f.required(), NextOutgoingID: f.required(), OutgoingWindow: f.required(),
		Handle: f.uint32(), DeliveryCount: f.uint32(), LinkCredit: f.uint32(), Available: f.uint32(), Drain: f.bool(), Echo: f.bool(),
	}, f.done()
}
