package wire

// Codes of a SASL outcome.
const (
	SASLOk   = 0
	SASLAuth = 1 // wrong credentials
)

// AppendSASLMechanisms appends the mechanisms that a server offers.
func AppendSASLMechanisms(b []byte, mechanisms ...string) []byte {
	c := compose(b, CodeSASLMechanisms)
	c.field()
	var m Mark
	c.b, m = BeginArray(c.b, Symbol)
	for _, name := range mechanisms {
		c.b = AppendTextItem(c.b, name)
	}
	c.b = m.EndArray(c.b, len(mechanisms))
	return c.end()
}

// SASLInit is the choice of a client.
type SASLInit struct {
	Mechanism string
	Response  []byte
	Hostname  string
}

// Append appends the frame body.
func (i *SASLInit) Append(b []byte) []byte {
	c := compose(b, CodeSASLInit)
	c.symbol(i.Mechanism)
	c.binary(i.Response)
	c.text(Optional[string]{Value: i.Hostname, Set: i.Hostname != ""})
	return c.end()
}

// ReadSASLInit reads a SASL init.
func ReadSASLInit(list Value) (SASLInit, error) {
	f := fieldsOf("sasl-init", list)
	i := SASLInit{Mechanism: f.symbol()}
	if i.Mechanism == "" {
		f.wrong()
	}
	i.Response, i.Hostname = f.binary(), f.text().Value
	return i, f.done()
}

// AppendSASLOutcome appends the end of the SASL exchange.
func AppendSASLOutcome(b []byte, code uint8) []byte {
	c := compose(b, CodeSASLOutcome)
	c.ubyte(Some(code))
	return c.end()
}
