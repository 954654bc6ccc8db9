package rules

import (
	"strconv"
	"unicode/utf8"

	"github.com/seriatimq/seriatim/queue/property"
)

// Limits of an expression. LengthMax and StatementsMax are those of Azure Service Bus.
const (
	LengthMax     = 1024 // characters
	StatementsMax = 32   // of an action
	DepthMax      = 64   // nested parentheses, signs, functions and NOT
)

// canonicalBytesMax bounds a canonical text, which can be longer than the original.
const canonicalBytesMax = 16 << 10

// parser parses the tokens of one expression by recursive descent. It stops at the first error.
type parser struct {
	text       string
	tokens     []token
	at         int
	depth      int
	parameters []property.Named
	err        error
}

// newParser returns a parser for an expression of at most LengthMax characters, or for a canonical
// text.
func newParser(text string, parameters []property.Named, canonical bool) (*parser, error) {
	if n := utf8.RuneCountInString(text); n > LengthMax && (!canonical || len(text) > canonicalBytesMax) {
		return nil, tooLong(n)
	}
	tokens, err := scan(text)
	return &parser{text: text, tokens: tokens, parameters: parameters}, err
}

func (p *parser) peek() token { return p.tokens[p.at] }

// fail keeps the first error, which is about tokens from one index to before another.
func (p *parser) fail(from, to int, detail string) {
	if p.err == nil {
		p.err = syntaxError(p.text, p.tokens[from].from, p.tokens[max(from, to-1)].to, detail)
	}
	p.at = len(p.tokens) - 1 // the end stops every loop
}

// unexpected refuses the next token.
func (p *parser) unexpected(want string) {
	t := p.peek()
	found := "the end of the expression"
	if t.kind != tokenEnd {
		found = shortened(p.text[t.from:t.to])
	}
	p.fail(p.at, p.at+1, "syntax error, unexpected "+found+", expecting "+want)
}

// accept skips a keyword or symbol if it is next.
func (p *parser) accept(text string) bool {
	if t := p.peek(); (t.kind == tokenKeyword || t.kind == tokenSymbol) && t.text == text {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(text string) {
	if !p.accept(text) {
		p.unexpected(text)
	}
}

// enter counts a level of nesting.
func (p *parser) enter() {
	if p.depth++; p.depth > DepthMax {
		p.fail(p.at, p.at+1, "the expression has more than "+strconv.Itoa(DepthMax)+" nested levels")
	}
}

func (p *parser) leave() { p.depth-- }

// condition parses a condition, and refuses a value.
func (p *parser) condition(parse func() node) node {
	from := p.at
	n := parse()
	if p.err == nil && !n.isCondition() {
		p.fail(from, p.at, "a value is not a condition; compare it, for example with = TRUE")
	}
	return n
}

// value parses a value, and refuses a condition.
func (p *parser) value(parse func() node) node {
	from := p.at
	n := parse()
	if p.err == nil && n.isCondition() {
		p.fail(from, p.at, "a condition cannot be an operand of this operator")
	}
	return n
}

// any parses an expression or a condition: the loosest level.
func (p *parser) any() node { return p.connected("OR", opOr, p.conjunction) }

func (p *parser) conjunction() node { return p.connected("AND", opAnd, p.negation) }

// connected parses operands joined by AND or OR.
func (p *parser) connected(word string, joined op, operand func() node) node {
	from := p.at
	first := operand()
	if p.err != nil || p.peek().kind != tokenKeyword || p.peek().text != word {
		return first
	}
	if !first.isCondition() {
		p.fail(from, p.at, "a value is not a condition; compare it, for example with = TRUE")
		return node{}
	}
	n := node{op: joined}
	n.join(first)
	for p.accept(word) {
		n.join(p.condition(operand))
	}
	return n
}

// join adds an operand of AND or OR. Operands of the same operation become operands of n.
func (n *node) join(operand node) {
	if operand.op == n.op {
		n.operands = append(n.operands, operand.operands...)
		return
	}
	n.operands = append(n.operands, operand)
}

func (p *parser) negation() node {
	if !p.accept("NOT") {
		return p.comparison()
	}
	p.enter()
	defer p.leave()
	return node{op: opNot, operands: []node{p.condition(p.negation)}}
}

// comparison parses a value with or without a relational operator, IS NULL, IN or LIKE.
func (p *parser) comparison() node {
	from := p.at
	first := p.sum()
	before := p.at
	n := p.relational(from, first)
	if p.at > before && first.isCondition() {
		p.fail(from, before, "a condition cannot be an operand of this operator")
	}
	return n
}

// relational parses the operator and operands after the first operand, which starts at a token.
func (p *parser) relational(from int, first node) node {
	for r, symbol := range [...]string{"=", "<>", "<", "<=", ">", ">=", "!="} {
		if p.accept(symbol) {
			if symbol == "!=" {
				r = int(unequal)
			}
			return node{op: opCompare, relation: relation(r), operands: []node{first, p.value(p.sum)}}
		}
	}
	if p.accept("IS") {
		not := p.accept("NOT")
		p.expect("NULL")
		if first.op != opApplication && first.op != opSystem {
			p.fail(from, p.at, "only a property can be NULL")
		}
		return node{op: opIsNull, negated: not, operands: []node{first}}
	}
	at := p.at
	not := p.accept("NOT")
	switch {
	case p.accept("IN"):
		return p.in(first, not)
	case p.accept("LIKE"):
		return p.like(first, not)
	case not:
		p.at = at + 1
		p.unexpected("IN or LIKE")
	}
	return first
}

func (p *parser) in(first node, not bool) node {
	n := node{op: opIn, negated: not, operands: []node{first}}
	p.expect("(")
	n.operands = append(n.operands, p.value(p.sum))
	for p.accept(",") {
		n.operands = append(n.operands, p.value(p.sum))
	}
	p.expect(")")
	return n
}

func (p *parser) like(first node, not bool) node {
	from := p.at
	n := node{op: opLike, negated: not, operands: []node{first, p.value(p.sum)}}
	constant := n.operands[1].isConstant()
	if constant && n.operands[1].value.Kind() != property.KindString {
		p.fail(from, p.at, "the pattern of LIKE is not a string")
	}
	var escape property.Value
	if escapeAt := p.at + 1; p.accept("ESCAPE") {
		n.operands = append(n.operands, p.value(p.sum))
		constant = constant && n.operands[2].isConstant()
		escape = n.operands[2].value
		if _, ok := escapeRune(escape); n.operands[2].isConstant() && !ok {
			p.fail(escapeAt, p.at, "the escape character of LIKE is not a string of one character")
		}
	}
	if p.err == nil && constant {
		compiled, ok := compile(n.operands[1].value.Str(), escape)
		if !ok {
			p.fail(from, p.at, "the pattern ends with its escape character")
		}
		n.pattern = compiled
	}
	return n
}

func (p *parser) sum() node { return p.arithmetic(p.product, property.Plus, property.Minus) }

func (p *parser) product() node {
	return p.arithmetic(p.signed, property.Times, property.Over, property.Modulo)
}

// arithmetic parses operands joined by operators of one level, from left to right.
func (p *parser) arithmetic(operand func() node, of ...property.Operator) node {
	from := p.at
	n := operand()
	for p.err == nil {
		found := false
		for _, o := range of {
			if found = p.accept(operators[o]); found {
				if n.isCondition() {
					p.fail(from, p.at-1, "a condition cannot be an operand of this operator")
					return n
				}
				n = node{op: opArithmetic, operator: o, operands: []node{n, p.value(operand)}}
				break
			}
		}
		if !found {
			break
		}
	}
	return n
}

// signed parses a sign. The sign of a number belongs to the constant.
func (p *parser) signed() node {
	sign := opPositive
	if p.accept("-") {
		sign = opNegate
		if t := p.peek(); t.kind == tokenInteger {
			p.at++
			return p.integer("-" + t.text)
		}
	} else if !p.accept("+") {
		return p.primary()
	}
	p.enter()
	defer p.leave()
	operand := p.value(p.signed)
	if sign == opNegate && operand.op == opConstant {
		if v, fault := property.Negate(operand.value); fault == property.OK && v.Kind() != property.KindNone {
			return node{op: opConstant, value: v}
		}
	}
	return node{op: sign, operands: []node{operand}}
}

// integer returns a constant. text has digits after an optional sign.
func (p *parser) integer(text string) node {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		p.fail(p.at-1, p.at, "the number is beyond the range of an integer of 64 bits")
	}
	return node{op: opConstant, value: property.Long(n)}
}

// end refuses tokens after the expression.
func (p *parser) end(want string) {
	if p.err == nil && p.peek().kind != tokenEnd {
		p.unexpected(want)
	}
}
