package filter

import (
	"slices"

	"github.com/seriatimq/seriatim/queue/jsontext"
	"github.com/seriatimq/seriatim/queue/lettercase"
)

const (
	onlyOneKey      = "Only one key allowed in match expression"
	tooManyElements = "Too many elements in numeric expression"
	outOfRange      = "Value must be between -1.0E9 and 1.0E9, inclusive"
)

// numberMax is the largest absolute value that SNS compares.
var numberMax, _ = parseDecimal("1e9")

// conditions compiles and counts the conditions of a path.
func (c *compiler) conditions(list jsontext.Value) (o conditions, n int, err error) {
	for v := range list.Elements() {
		switch n++; v.Kind() {
		case jsontext.KindString:
			o.texts = append(o.texts, v.Text())
		case jsontext.KindNumber:
			number, _ := parseDecimal(v.Raw())
			o.numbers = append(o.numbers, number)
		case jsontext.KindTrue, jsontext.KindFalse, jsontext.KindNull:
			o.words |= 1 << v.Kind()
		case jsontext.KindObject:
			err = c.expression(&o, v)
		default:
			err = c.refuse(v, "Match value must be String, number, true, false, or null")
		}
		if err != nil {
			return conditions{}, 0, err
		}
	}
	if n == 0 {
		return conditions{}, 0, located(c.text, list.End(), "Empty arrays are not allowed")
	}
	o.sort()
	return o, n, nil
}

// expression compiles an object with one operator.
func (c *compiler) expression(o *conditions, object jsontext.Value) error {
	operator := ""
	for name, v := range object.Members() {
		if operator != "" {
			return c.refuse(v, afterOperator(operator))
		}
		operator = name.Text()
		if err := c.operator(o, operator, v); err != nil {
			return err
		}
	}
	if operator == "" {
		return located(c.text, object.End(), "Match expression name not found")
	}
	return nil
}

// afterOperator returns the error of event-ruler for a second operator.
func afterOperator(operator string) string {
	if operator == "numeric" || operator == "anything-but" {
		return tooManyElements
	}
	return onlyOneKey
}

// operator compiles an operator with its operand.
func (c *compiler) operator(o *conditions, name string, v jsontext.Value) error {
	switch name {
	case "exists":
		switch v.Kind() {
		case jsontext.KindTrue:
			o.present = true
		case jsontext.KindFalse:
			o.absent = true
		default:
			return c.refuse(v, "exists match pattern must be either true or false.")
		}
		return nil
	case "prefix", "suffix", "equals-ignore-case":
		return c.textOperator(o, name, v)
	case "cidr":
		if v.Kind() != jsontext.KindString {
			return c.refuse(v, "prefix match pattern must be a string") // the text of SNS
		}
		network, err := parseNetwork(v.Text())
		o.others = append(o.others, condition{operator: opNetwork, network: network})
		return err
	case "numeric":
		return c.numeric(o, v)
	case "anything-but":
		return c.anythingBut(o, v)
	}
	return c.refuse(v, "Unrecognized match type "+shortened(name))
}

// textOperator compiles an operator with a string operand.
func (c *compiler) textOperator(o *conditions, name string, v jsontext.Value) error {
	if v.Kind() != jsontext.KindString {
		return c.refuse(v, name+" match pattern must be a string")
	}
	switch name {
	case "prefix":
		o.others = append(o.others, condition{operator: opPrefix, text: v.Text()})
	case "suffix":
		o.others = append(o.others, condition{operator: opSuffix, text: v.Text()})
	default:
		o.folded = append(o.folded, lettercase.Folded(v.Text()))
	}
	return nil
}

// numeric compiles a comparison or a range.
func (c *compiler) numeric(o *conditions, list jsontext.Value) error {
	if list.Kind() != jsontext.KindArray {
		return c.refuse(list, "Value of numeric must be an array.")
	}
	r := numericReader{compiler: c, list: list}
	for e := range list.Elements() {
		if r.elements = append(r.elements, e); len(r.elements) > 4 {
			break
		}
	}
	comparison, err := r.read()
	o.others = append(o.others, comparison)
	return err
}

// numericReader reads the list of numeric token by token, as SNS does, because that decides the
// error and its position.
type numericReader struct {
	compiler *compiler
	list     jsontext.Value
	elements []jsontext.Value
}

// refuse returns an error at element i, or at the end of the list.
func (r *numericReader) refuse(i int, reason string) error {
	if i < len(r.elements) {
		return r.compiler.refuse(r.elements[i], reason)
	}
	return located(r.compiler.text, r.list.End(), reason)
}

func (r *numericReader) isKind(i int, kind jsontext.Kind) bool {
	return i < len(r.elements) && r.elements[i].Kind() == kind
}

// token returns element i for an error text.
func (r *numericReader) token(i int) string {
	if i == len(r.elements) {
		return "]"
	}
	switch e := r.elements[i]; e.Kind() {
	case jsontext.KindObject, jsontext.KindArray:
		return e.Raw()[:1]
	default:
		return shortened(e.Raw())
	}
}

// number returns element i, the operand of an operator.
func (r *numericReader) number(i int, operator string) (decimal, error) {
	if !r.isKind(i, jsontext.KindNumber) {
		return decimal{}, r.refuse(i, "Value of "+operator+" must be numeric")
	}
	n, _ := parseDecimal(r.elements[i].Raw())
	return n, nil
}

func (r *numericReader) read() (condition, error) {
	o := condition{operator: opRange}
	if !r.isKind(0, jsontext.KindString) {
		return o, r.refuse(0, "Invalid member in numeric match: "+r.token(0))
	}
	operator := r.elements[0].Text()
	named := operator
	switch operator {
	case "=":
		named = "equals"
	case "<", "<=", ">", ">=":
	default:
		return o, r.refuse(1, "Unrecognized numeric range operator: "+shortened(operator))
	}
	n, err := r.number(1, named)
	if err != nil {
		return o, err
	}
	here := bound{at: n, is: true, open: len(operator) == 1 && operator != "="}
	if operator[0] != '>' {
		o.high = here
		if operator == "=" {
			o.low = here
		}
		if len(r.elements) > 2 {
			return o, r.refuse(2, tooManyElements)
		}
		return o, r.inRange(n)
	}
	o.low = here
	if len(r.elements) == 2 {
		return o, r.inRange(n)
	}
	return r.readTop(o)
}

// readTop reads the upper end of a range.
func (r *numericReader) readTop(o condition) (condition, error) {
	if !r.isKind(2, jsontext.KindString) {
		return o, r.refuse(2, "Bad value in numeric range: "+r.token(2))
	}
	operator := r.elements[2].Text()
	if operator != "<" && operator != "<=" {
		return o, located(r.compiler.text, r.elements[2].End(), "Bad numeric range operator: "+shortened(operator))
	}
	n, err := r.number(3, operator)
	if err != nil {
		return o, err
	}
	if len(r.elements) > 4 {
		return o, r.refuse(4, "Too many terms in numeric range expression")
	}
	o.high = bound{at: n, is: true, open: operator == "<"}
	if err := r.inRange(o.low.at, n); err != nil {
		return o, err
	}
	if o.low.at.compare(n) >= 0 {
		return o, located(r.compiler.text, r.list.End(), "Bottom must be less than top")
	}
	return o, nil
}

func (r *numericReader) inRange(numbers ...decimal) error {
	if slices.ContainsFunc(numbers, beyondRange) {
		return located(r.compiler.text, r.list.End(), outOfRange)
	}
	return nil
}

// beyondRange reports whether a number exceeds the range of SNS.
func beyondRange(n decimal) bool {
	n.negative = false
	return n.compare(numberMax) > 0
}
