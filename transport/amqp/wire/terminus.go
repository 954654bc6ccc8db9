package wire

// Source is the end of a link that its messages come from.
type Source struct {
	Address           Value // as sent
	Durable           Optional[uint32]
	ExpiryPolicy      string
	Timeout           Optional[uint32] // s
	Dynamic           bool
	DynamicProperties Value
	DistributionMode  string
	Filter            Value // a map
	DefaultOutcome    Value
	Outcomes          Value
	Capabilities      Value
}

// Append appends the described source.
func (s *Source) Append(b []byte) []byte {
	c := compose(b, CodeSource)
	c.value(s.Address)
	c.optionalUint32(s.Durable)
	c.symbol(s.ExpiryPolicy)
	c.optionalUint32(s.Timeout)
	c.bool(s.Dynamic)
	c.value(s.DynamicProperties)
	c.symbol(s.DistributionMode)
	c.value(s.Filter)
	c.value(s.DefaultOutcome)
	c.value(s.Outcomes)
	c.value(s.Capabilities)
	return c.end()
}

// ReadSource reads a described source.
func ReadSource(v Value) (Source, error) {
	code, list, ok := v.Descriptor()
	if !ok || code != CodeSource {
		return Source{}, malformed("a link without source")
	}
	f := fieldsOf("source", list)
	return Source{
		Address: f.value(), Durable: f.uint32(), ExpiryPolicy: f.symbol(), Timeout: f.uint32(), Dynamic: f.bool(),
		DynamicProperties: f.kind(Map), DistributionMode: f.symbol(), Filter: f.kind(Map), DefaultOutcome: f.kind(Described),
		Outcomes: f.value(), Capabilities: f.value(),
	}, f.done()
}

// Target is the end of a link that its messages go to: an address, or the coordinator of
// transactions.
type Target struct {
	Coordinator       bool
	Address           Value // as sent
	Durable           Optional[uint32]
	ExpiryPolicy      string
	Timeout           Optional[uint32] // s
	Dynamic           bool
	DynamicProperties Value
	Capabilities      Value
}

// Append appends the described target or coordinator.
func (t *Target) Append(b []byte) []byte {
	if t.Coordinator {
		c := compose(b, CodeCoordinator)
		c.value(t.Capabilities)
		return c.end()
	}
	c := compose(b, CodeTarget)
	c.value(t.Address)
	c.optionalUint32(t.Durable)
	c.symbol(t.ExpiryPolicy)
	c.optionalUint32(t.Timeout)
	c.bool(t.Dynamic)
	c.value(t.DynamicProperties)
	c.value(t.Capabilities)
	return c.end()
}

// ReadTarget reads a described target or coordinator.
func ReadTarget(v Value) (Target, error) {
	code, list, ok := v.Descriptor()
	switch {
	case ok && code == CodeCoordinator:
		f := fieldsOf("coordinator", list)
		return Target{Coordinator: true, Capabilities: f.value()}, f.done()
	case !ok || code != CodeTarget:
		return Target{}, malformed("a link without target")
	}
	f := fieldsOf("target", list)
	return Target{
		Address: f.value(), Durable: f.uint32(), ExpiryPolicy: f.symbol(), Timeout: f.uint32(), Dynamic: f.bool(),
		DynamicProperties: f.kind(Map), Capabilities: f.value(),
	}, f.done()
}
