package wire

import "encoding/binary"

// Transfer carries a message or a part of it. Only the first part needs the fields before More.
type Transfer struct {
	Handle        uint32
	DeliveryID    Optional[uint32]
	DeliveryTag   []byte
	MessageFormat Optional[uint32]
	Settled       bool
	More          bool
	State         Value
	Aborted       bool
}

// Append appends the performative.
func (t *Transfer) Append(b []byte) []byte {
	c := compose(b, CodeTransfer)
	c.uint32(t.Handle)
	c.optionalUint32(t.DeliveryID)
	c.binary(t.DeliveryTag)
	c.optionalUint32(t.MessageFormat)
	c.bool(t.Settled)
	c.bool(t.More)
	c.null() // receiver settle mode
	c.value(t.State)
	c.null() // resume
	c.bool(t.Aborted)
	return c.end()
}

// ReadTransfer reads a transfer.
func ReadTransfer(list Value) (Transfer, error) {
	f := fieldsOf("transfer", list)
	t := Transfer{
		Handle: f.required(), DeliveryID: f.uint32(), DeliveryTag: f.binary(), MessageFormat: f.uint32(), Settled: f.bool(), More: f.bool(),
	}
	f.mode(ReceiverSecond)
	t.State = f.kind(Described)
	f.bool() // resume
	t.Aborted = f.bool()
	return t, f.done()
}

// Disposition tells the state of deliveries from First to Last.
type Disposition struct {
	Role    Role
	First   uint32
	Last    uint32
	Settled bool
	State   Value
}

// Append appends the performative.
func (d *Disposition) Append(b []byte) []byte {
	c := d.begin(b)
	c.value(d.State)
	return c.end()
}

// AppendWith appends the performative with a state instead of State; a code of 0 means none.
func (d *Disposition) AppendWith(b []byte, s *State) []byte {
	c := d.begin(b)
	if s.Code != 0 {
		c.field()
		c.b = s.Append(c.b)
	}
	return c.end()
}

// begin appends all but the state. First and Last take four bytes each, so that ExtendDisposition
// can change Last.
func (d *Disposition) begin(b []byte) composite {
	c := compose(b, CodeDisposition)
	c.role(d.Role)
	c.field()
	c.b = binary.BigEndian.AppendUint32(append(c.b, codeUint), d.First)
	c.field()
	c.b = binary.BigEndian.AppendUint32(append(c.b, codeUint), d.Last)
	c.bool(d.Settled)
	return c
}

// lastOfDisposition is the place of Last in a small frame with a disposition: behind its header, the
// descriptor, the size and the count, the role, First and a constructor.
const lastOfDisposition = HeaderBytes + 3 + compoundHeader + 1 + 5 + 1

// ExtendDisposition changes Last in a frame that Append has written, of less than 256 bytes.
func ExtendDisposition(frame []byte, last uint32) {
	binary.BigEndian.PutUint32(frame[lastOfDisposition:], last)
}

// ReadDisposition reads a disposition.
func ReadDisposition(list Value) (Disposition, error) {
	f := fieldsOf("disposition", list)
	d := Disposition{Role: f.role(), First: f.required()}
	d.Last = f.uint32().Or(d.First)
	d.Settled, d.State = f.bool(), f.kind(Described)
	return d, f.done()
}
