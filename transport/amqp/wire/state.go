package wire

// State is the state of a delivery. Code says which of the fields have a meaning.
type State struct {
	Code uint64

	Error *Error // Rejected; may be nil

	DeliveryFailed    bool  // Modified
	UndeliverableHere bool  // Modified
	Annotations       Value // Modified: a map

	SectionNumber uint32 // Received
	SectionOffset uint64 // Received

	TxnID   []byte // Declared and TransactionalState
	Outcome Value  // TransactionalState: a described state; may be absent
}

// Terminal reports whether the state is an outcome.
func (s *State) Terminal() bool {
	switch s.Code {
	case CodeAccepted, CodeRejected, CodeReleased, CodeModified, CodeDeclared, CodeTransactionalState:
		return true
	}
	return false
}

// Append appends the described state.
func (s *State) Append(b []byte) []byte {
	c := compose(b, s.Code)
	switch s.Code {
	case CodeReceived:
		c.uint32(s.SectionNumber)
		c.ulong(Some(s.SectionOffset))
	case CodeRejected:
		c.error(s.Error)
	case CodeModified:
		c.bool(s.DeliveryFailed)
		c.bool(s.UndeliverableHere)
		c.value(s.Annotations)
	case CodeDeclared:
		c.binary(s.TxnID)
	case CodeTransactionalState:
		c.binary(s.TxnID)
		c.value(s.Outcome)
	}
	return c.end()
}

// ReadState reads a described state.
func ReadState(v Value) (State, error) {
	code, list, ok := v.Descriptor()
	if !ok {
		return State{}, malformed("a delivery state without descriptor")
	}
	s := State{Code: code}
	f := fieldsOf("state", list)
	switch code {
	case CodeAccepted, CodeReleased:
	case CodeReceived:
		s.SectionNumber, s.SectionOffset = f.required(), f.ulong().Value
	case CodeRejected:
		s.Error = f.error()
	case CodeModified:
		s.DeliveryFailed, s.UndeliverableHere, s.Annotations = f.bool(), f.bool(), f.kind(Map)
	case CodeDeclared:
		s.TxnID = f.binary()
	case CodeTransactionalState:
		s.TxnID, s.Outcome = f.binary(), f.kind(Described)
	default:
		return State{}, malformed("unknown delivery state 0x%x", code)
	}
	if (code == CodeDeclared || code == CodeTransactionalState) && s.TxnID == nil {
		f.wrong()
	}
	return s, f.done()
}

// Discharge ends a transaction.
type Discharge struct {
	TxnID []byte
	Fail  bool
}

// AppendDeclare appends the request for a transaction.
func AppendDeclare(b []byte) []byte {
	c := compose(b, CodeDeclare)
	return c.end()
}

// Append appends the described discharge.
func (d *Discharge) Append(b []byte) []byte {
	c := compose(b, CodeDischarge)
	c.binary(d.TxnID)
	c.bool(d.Fail)
	return c.end()
}

// ReadDischarge reads a described discharge.
func ReadDischarge(v Value) (Discharge, error) {
	code, list, ok := v.Descriptor()
	if !ok || code != CodeDischarge {
		return Discharge{}, malformed("not a discharge")
	}
	f := fieldsOf("discharge", list)
	d := Discharge{TxnID: f.binary(), Fail: f.bool()}
	if d.TxnID == nil {
		f.wrong()
	}
	return d, f.done()
}
