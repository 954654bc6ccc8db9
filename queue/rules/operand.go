package rules

import (
	"github.com/seriatimq/seriatim/queue/lettercase"
	"github.com/seriatimq/seriatim/queue/property"
)

// primary parses an operand without operators, or what parentheses enclose.
func (p *parser) primary() node {
	t := p.peek()
	switch t.kind {
	case tokenString:
		p.at++
		return node{op: opConstant, value: property.String(t.text)}
	case tokenInteger:
		p.at++
		return p.integer(t.text)
	case tokenDouble:
		p.at++
		v, ok := property.DoubleLiteral(t.text)
		if !ok {
			p.fail(p.at-1, p.at, "the number is beyond the range of a double")
		}
		return node{op: opConstant, value: v}
	case tokenParameter:
		return p.parameter()
	case tokenDelimited:
		return p.property()
	case tokenWord:
		if following := p.tokens[p.at+1]; following.kind == tokenSymbol && following.text == "(" {
			return p.function()
		}
		return p.property()
	default:
		return p.reserved(t)
	}
}

// reserved parses a constant, EXISTS or parentheses: a token is a keyword or a symbol.
func (p *parser) reserved(t token) node {
	switch {
	case p.accept("TRUE"), p.accept("FALSE"):
		return node{op: opConstant, value: property.Boolean(t.text == "TRUE")}
	case p.accept("NULL"):
		return node{op: opConstant, value: property.Null}
	case p.accept("EXISTS"):
		p.expect("(")
		n := node{op: opExists, operands: []node{p.property()}}
		p.expect(")")
		return n
	case p.accept("("):
		p.enter()
		defer p.leave()
		n := p.any()
		p.expect(")")
		return n
	}
	p.unexpected("a value or a property")
	return node{}
}

// parameter returns the value of a parameter as a constant.
func (p *parser) parameter() node {
	t := p.peek()
	for _, known := range p.parameters {
		if lettercase.Equal(known.Name, t.text) {
			p.at++
			return node{op: opParameter, name: known.Name, value: known.Value}
		}
	}
	p.fail(p.at, p.at+1, "the parameter has no value")
	return node{}
}

// function parses newid(), property(x) and p(x).
func (p *parser) function() node {
	t := p.peek()
	p.at += 2
	p.enter()
	defer p.leave()
	n := node{op: opNewID}
	switch {
	case lettercase.Equal(t.text, "newid"):
	case lettercase.Equal(t.text, "property"), lettercase.Equal(t.text, "p"):
		n = node{op: opProperty, operands: []node{p.value(p.sum)}}
	default:
		p.fail(p.at-2, p.at-1, "there is no such function; there are newid and property")
	}
	p.expect(")")
	return n
}

// property parses a property with or without a scope.
func (p *parser) property() node {
	t := p.peek()
	if t.kind != tokenWord && t.kind != tokenDelimited {
		p.unexpected("a property")
		return node{}
	}
	p.at++
	if !p.accept(".") {
		return node{op: opApplication, name: t.text}
	}
	system := t.kind == tokenWord && lettercase.Equal(t.text, "sys")
	if !system && (t.kind != tokenWord || !lettercase.Equal(t.text, "user")) {
		p.fail(p.at-2, p.at, "a scope is sys or user; a name with a point needs brackets: [a.b]")
		return node{}
	}
	name := p.peek()
	if name.kind != tokenWord && name.kind != tokenDelimited && name.kind != tokenKeyword {
		p.unexpected("the name of a property")
		return node{}
	}
	p.at++
	if !system {
		if name.kind == tokenKeyword {
			name.text = p.text[name.from:name.to]
		}
		return node{op: opApplication, name: name.text}
	}
	s, ok := property.ParseSystem(name.text)
	if !ok {
		p.fail(p.at-3, p.at, "there is no such system property")
	}
	return node{op: opSystem, system: s}
}
