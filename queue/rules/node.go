package rules

import (
	"strings"

	"github.com/seriatimq/seriatim/queue/property"
)

// op is the operation of a node. Those from opCompare on are conditions.
type op uint8

const (
	opConstant op = iota
	opParameter
	opApplication
	opSystem
	opNewID
	opProperty // the function
	opNegate
	opPositive
	opArithmetic
	opCompare
	opIsNull
	opIn
	opLike
	opExists
	opNot
	opAnd
	opOr
)

// node is a node of an expression. AND and OR have two or more operands, none of which has the same
// operation.
type node struct {
	op       op
	operator property.Operator // of opArithmetic
	relation relation          // of opCompare
	negated  bool              // of IS NULL, IN and LIKE
	system   property.System
	name     string         // of a property or parameter
	value    property.Value // of a constant or parameter
	operands []node
	pattern  *pattern // of LIKE, if constant
}

func (n *node) isCondition() bool { return n.op >= opCompare }

func (n *node) isConstant() bool { return n.op == opConstant || n.op == opParameter }

// relation is a relational operator.
type relation uint8

const (
	equal relation = iota
	unequal
	less
	lessOrEqual
	greater
	greaterOrEqual
)

var (
	relations = [...]string{"=", "<>", "<", "<=", ">", ">="}
	operators = [...]string{property.Plus: "+", property.Minus: "-", property.Times: "*", property.Over: "/", property.Modulo: "%"}
)

// Levels of precedence, from loose to tight.
const (
	levelOr = iota
	levelAnd
	levelNot
	levelCompare
	levelSum
	levelProduct
	levelSign
	levelPrimary
)

func (n *node) level() int {
	switch n.op {
	case opOr:
		return levelOr
	case opAnd:
		return levelAnd
	case opNot:
		return levelNot
	case opCompare, opIsNull, opIn, opLike:
		return levelCompare
	case opArithmetic:
		if n.operator == property.Plus || n.operator == property.Minus {
			return levelSum
		}
		return levelProduct
	case opNegate, opPositive:
		return levelSign
	default:
		return levelPrimary
	}
}

// text returns the canonical text.
func (n *node) text() string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

// writeOperand writes a node, in parentheses if it binds looser than a level.
func (n *node) writeOperand(b *strings.Builder, level int) {
	if n.level() >= level {
		n.write(b)
		return
	}
	b.WriteByte('(')
	n.write(b)
	b.WriteByte(')')
}

func (n *node) write(b *strings.Builder) {
	switch n.op {
	case opConstant:
		writeConstant(b, n.value)
	case opParameter:
		b.WriteString(n.name)
	case opApplication:
		writeName(b, n.name)
	case opSystem:
		b.WriteString("sys." + n.system.String())
	case opNewID:
		b.WriteString("newid()")
	case opProperty:
		b.WriteString("property(")
		n.operands[0].write(b)
		b.WriteByte(')')
	case opNegate, opPositive:
		n.writeSign(b)
	case opExists:
		b.WriteString("EXISTS(")
		n.operands[0].write(b)
		b.WriteByte(')')
	case opNot:
		b.WriteString("NOT ")
		n.operands[0].writeOperand(b, levelNot)
	case opAnd:
		n.writeJoined(b, " AND ")
	case opOr:
		n.writeJoined(b, " OR ")
	default:
		n.writeInfix(b)
	}
}

func (n *node) writeJoined(b *strings.Builder, word string) {
	for i := range n.operands {
		if i > 0 {
			b.WriteString(word)
		}
		n.operands[i].writeOperand(b, n.level()+1)
	}
}

// writeSign keeps two signs apart.
func (n *node) writeSign(b *strings.Builder) {
	sign := byte('-')
	if n.op == opPositive {
		sign = '+'
	}
	operand := n.operands[0].text()
	b.WriteByte(sign)
	if n.operands[0].level() < levelSign || strings.ContainsRune("+-", rune(operand[0])) {
		operand = "(" + operand + ")"
	}
	b.WriteString(operand)
}

// writeInfix writes an arithmetic or relational operator with its operands.
func (n *node) writeInfix(b *strings.Builder) {
	level := n.level()
	if n.op == opArithmetic {
		n.operands[0].writeOperand(b, level)
		b.WriteString(" " + operators[n.operator] + " ")
		n.operands[1].writeOperand(b, level+1)
		return
	}
	n.operands[0].writeOperand(b, level+1)
	not := ""
	if n.negated {
		not = "NOT "
	}
	switch n.op {
	case opCompare:
		b.WriteString(" " + relations[n.relation] + " ")
		n.operands[1].writeOperand(b, level+1)
	case opIsNull:
		b.WriteString(" IS " + not + "NULL")
	case opIn:
		b.WriteString(" " + not + "IN (")
		for i := range n.operands[1:] {
			if i > 0 {
				b.WriteString(", ")
			}
			n.operands[i+1].writeOperand(b, level+1)
		}
		b.WriteByte(')')
	default: // opLike
		b.WriteString(" " + not + "LIKE ")
		n.operands[1].writeOperand(b, level+1)
		if len(n.operands) > 2 {
			b.WriteString(" ESCAPE ")
			n.operands[2].writeOperand(b, level+1)
		}
	}
}

// writeConstant writes a value that the grammar has a constant for.
func writeConstant(b *strings.Builder, v property.Value) {
	switch text := v.Text(); v.Kind() {
	case property.KindNull:
		b.WriteString("NULL")
	case property.KindString:
		b.WriteString("'" + strings.ReplaceAll(text, "'", "''") + "'")
	case property.KindBoolean:
		b.WriteString(strings.ToUpper(text))
	case property.KindDouble:
		b.WriteString(text)
		if !strings.ContainsAny(text, ".E") {
			b.WriteString(".0")
		}
	default:
		b.WriteString(text)
	}
}

// writeName writes the name of an application property, delimited if it has anything but letters of
// ASCII, digits and underscores.
func writeName(b *strings.Builder, name string) {
	_, reserved := keyword(name)
	plain := !reserved && isLetter(rune(name[0])) && name[0] < 0x80
	for i := range len(name) {
		plain = plain && name[i] < 0x80 && wordEnd(name[i:i+1], 0) == 1
	}
	if plain {
		b.WriteString(name)
		return
	}
	b.WriteString("[" + strings.ReplaceAll(name, "]", "]]") + "]")
}
