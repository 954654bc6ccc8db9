package filter

import (
	"slices"

	"github.com/seriatimq/seriatim/queue/jsontext"
	"github.com/seriatimq/seriatim/queue/lettercase"
)

// anythingBut compiles the excluded value: a string, a number, a list of either, or an object with
// a string operator.
func (c *compiler) anythingBut(o *conditions, v jsontext.Value) error {
	except := conditions{}
	var err error
	switch v.Kind() {
	case jsontext.KindObject:
		err = c.anythingButExpression(&except, v)
	case jsontext.KindArray:
		err = c.anythingButList(&except, v)
	case jsontext.KindString, jsontext.KindNumber:
		err = c.anythingButValue(&except, v)
	default:
		err = c.refuse(v, "Value of anything-but must be an array or single string/number value.")
	}
	if err != nil {
		return err
	}
	except.sort()
	o.others = append(o.others, condition{operator: opAnythingBut, except: &except})
	return nil
}

func (c *compiler) anythingButValue(except *conditions, v jsontext.Value) error {
	switch v.Kind() {
	case jsontext.KindString:
		except.texts = append(except.texts, v.Text())
	case jsontext.KindNumber:
		n, _ := parseDecimal(v.Raw())
		if beyondRange(n) {
			return c.refuse(v, outOfRange)
		}
		except.numbers = append(except.numbers, n)
	default:
		return c.refuse(v, "Inside anything but list, start|null|boolean is not supported.")
	}
	return nil
}

func (c *compiler) anythingButList(except *conditions, list jsontext.Value) error {
	for v := range list.Elements() {
		if err := c.anythingButValue(except, v); err != nil {
			return err
		}
	}
	if (len(except.texts) > 0) == (len(except.numbers) > 0) {
		return located(c.text, list.End(), "Inside anything but list, either all values are number or string, mixed type is not supported")
	}
	return nil
}

// anythingButExpression compiles an excluded string operator.
func (c *compiler) anythingButExpression(except *conditions, object jsontext.Value) error {
	operator := ""
	for name, v := range object.Members() {
		if operator != "" {
			return c.refuse(v, onlyOneKey)
		}
		operator = name.Text()
		var err error
		switch operator {
		case "prefix", "suffix":
			err = c.textOperator(except, operator, v)
			if err == nil && v.Text() == "" {
				err = located(c.text, v.End(), "Null prefix/suffix not allowed")
			}
		case "equals-ignore-case":
			err = c.anythingButFold(except, v)
		default:
			err = c.refuse(v, "Unsupported anything-but pattern: "+shortened(operator))
		}
		if err != nil {
			return err
		}
	}
	if operator == "" {
		return located(c.text, object.End(), "Anything-But expression name not found")
	}
	return nil
}

// anythingButFold compiles strings that are excluded in any letter case.
func (c *compiler) anythingButFold(except *conditions, v jsontext.Value) error {
	list := []jsontext.Value{v}
	if v.Kind() == jsontext.KindArray {
		if list = slices.Collect(v.Elements()); len(list) == 0 {
			return located(c.text, v.End(), "Empty arrays are not allowed")
		}
	}
	for _, s := range list {
		if s.Kind() != jsontext.KindString {
			return c.refuse(s, "Inside anything-but/equals-ignore-case list, number|start|null|boolean is not supported.")
		}
		except.folded = append(except.folded, lettercase.Folded(s.Text()))
	}
	return nil
}
