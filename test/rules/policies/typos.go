package policies

import (
	"slices"
	"strings"
)

// known are the names that a typo must not produce by chance, as it would be valid.
var known = []string{
	"Version", "Id", "Statement", "Sid", "Effect", "Principal", "NotPrincipal", "Action", "NotAction", "Resource", "NotResource",
	"Condition",
}

// typo changes one place of a statement or of its document so that the policy is invalid. It
// returns a description, which is empty if there is no such place.
type typo func(s source, document *object, at int) string

func statementAt(document *object, at int) *object {
	list := find(*document, "Statement").value.([]any)
	o := list[at].(object)
	return &o
}

// put replaces a statement.
func put(document *object, at int, o object) {
	find(*document, "Statement").value.([]any)[at] = o
}

// find returns the member with a name, or nil.
func find(o object, names ...string) *member {
	for i := range o {
		if slices.Contains(names, o[i].name) {
			return &o[i]
		}
	}
	return nil
}

// misspelt returns a name with one wrong letter that is not a known name.
func misspelt(s source, name string, known []string) string {
	for {
		b := []byte(name)
		i := s.IntN(len(b))
		letter := byte('a' + s.IntN(26))
		switch s.IntN(5) {
		case 0:
			b = slices.Delete(b, i, i+1)
		case 1:
			b = slices.Insert(b, i, letter)
		case 2:
			b[i] = letter
		case 3:
			if i > 0 {
				b[i-1], b[i] = b[i], b[i-1]
			}
		case 4:
			b = append(b, 's')
		}
		if out := string(b); len(b) > 0 &&
			!slices.ContainsFunc(append(known, name), func(k string) bool { return strings.EqualFold(k, out) }) {
			return out
		}
	}
}

// otherCase returns a name in another letter case.
func otherCase(s source, name string) string {
	lower, upper := strings.ToLower(name), strings.ToUpper(name)
	if lower != name && s.chance(50) || upper == name {
		return lower
	}
	return upper
}

// inStatement returns the typo that makes a change in one statement.
func inStatement(change func(s source, o *object) string) typo {
	return func(s source, document *object, at int) string {
		o := slices.Clone(*statementAt(document, at))
		what := change(s, &o)
		put(document, at, o)
		return what
	}
}

// inCondition returns the typo that makes a change in one operator.
func inCondition(change func(s source, operator *member) string) typo {
	return inStatement(func(s source, o *object) string {
		c := find(*o, "Condition")
		if c == nil {
			return ""
		}
		return change(s, &c.value.(object)[s.IntN(len(c.value.(object)))])
	})
}

var typos = []typo{
	inStatement(func(s source, o *object) string {
		m := &(*o)[s.IntN(len(*o))]
		m.name = misspelt(s, m.name, known)
		return "member " + m.name
	}),
	inStatement(func(s source, o *object) string {
		m := &(*o)[s.IntN(len(*o))]
		m.name = otherCase(s, m.name)
		return "member " + m.name
	}),
	inStatement(func(s source, o *object) string { // missing members, also those of a user's policy
		i := s.IntN(len(*o))
		if (*o)[i].name == "Condition" {
			return ""
		}
		name := (*o)[i].name
		*o = slices.Delete(*o, i, i+1)
		return "without " + name
	}),
	inStatement(func(s source, o *object) string { // in a user's policy, or a second one
		if find(*o, "Principal") != nil {
			*o = append(*o, member{"NotPrincipal", object{{"AWS", home}}})
			return "two principals"
		}
		*o = append(*o, member{"Principal", object{{"AWS", "*"}}})
		return "a principal"
	}),
	inStatement(func(s source, o *object) string {
		m := find(*o, "Effect")
		m.value = pick(s, "allow", "ALLOW", "deny", "Alow", "", "Permit", " Allow")
		return "effect " + m.value.(string)
	}),
	inStatement(func(s source, o *object) string {
		m := (*o)[s.IntN(len(*o))]
		*o = append(*o, m)
		return "twice " + m.name
	}),
	inStatement(func(s source, o *object) string {
		m := find(*o, "Action", "NotAction")
		m.value = []any{"sqs:GetQueueUrl",
			pick(s, misspelt(s, "sqs:SendMessage", nil), "sqs:SendMessageBatch", "s3:*", "SendMessage", "sqs.*", "")}
		return text(m.value)
	}),
	inStatement(func(s source, o *object) string {
		m := find(*o, "Resource", "NotResource")
		m.value = []any{pick(s, "orders", "arn:aws:s3:::orders", "arn:aws:sq:us-east-1:"+home+":orders", "arn:aws:sqs:us-east-1:orders",
			"${aws:usrname}*", "*${aws:username", "arn:aw:sqs:*:*:*", "")}
		return text(m.value)
	}),
	inStatement(func(s source, o *object) string {
		m := pick(s, find(*o, "Action", "NotAction"), find(*o, "Resource", "NotResource"))
		m.value = pick[any](s, []any{}, object{}, object{{"AWS", "*"}}, []any{[]any{"*"}})
		return m.name + " " + text(m.value)
	}),
	inStatement(func(s source, o *object) string {
		m := find(*o, "Principal", "NotPrincipal")
		if m == nil {
			return ""
		}
		m.value = pick[any](s, home, "", []any{"*"}, object{}, object{{"AWS", []any{}}}, object{{"AWS", object{{"AWS", "*"}}}},
			object{{"aws", "*"}}, object{{"AW", "*"}},
			object{{"CanonicalUser", home}}, object{{"Federated", "*"}}, object{{"Service", "sqs"}},
			object{{"AWS", "arn:aws:iam::" + home + ":user/*"}}, object{{"AWS", "arn:aws:iam::" + home + ":role/ada"}},
			object{{"AWS", "arn:aws-us-gov:iam::" + home + ":user/ada"}},
			object{{"AWS", "arn:aws:iam::1111*:root"}}, object{{"AWS", home[1:]}},
			object{{"AWS", []any{"*", "arn:aws:iam:" + home + ":root"}}}, object{{"AWS", "arn:aws:sts::" + home + ":assumed-role/a/b"}})
		return "principal " + text(m.value)
	}),
	inCondition(func(s source, m *member) string {
		m.name = pick(s, misspelt(s, m.name, nil), otherCase(s, m.name), "ForAnyValue:"+m.name, "ForAllValues:"+m.name, m.name+"IfExist",
			"Equals")
		return "operator " + m.name
	}),
	inCondition(func(s source, m *member) string {
		keys := slices.Clone(m.value.(object))
		keys[0].name = misspelt(s, keys[0].name, nil)
		m.value = keys
		return "key " + keys[0].name
	}),
	inCondition(func(s source, m *member) string { // nested in the wrong order
		keys := m.value.(object)
		*m = member{keys[0].name, object{{m.name, keys[0].value}}}
		return "nesting " + m.name
	}),
	inCondition(func(s source, m *member) string {
		m.value = pick[any](s, object{}, "x", []any{m.value}, object{{"aws:SourceIp", object{}}}, object{{"aws:SourceIp", "10.0.0.0/33"}},
			object{{"aws:SourceIp", []any{}}})
		return "values " + text(m.value)
	}),
	func(s source, document *object, at int) string { // a member one level too high
		o := slices.Clone(*statementAt(document, at))
		i := s.IntN(len(o))
		m := o[i]
		put(document, at, slices.Delete(o, i, i+1))
		*document = append(*document, m)
		return "nesting " + m.name
	},
	func(s source, document *object, at int) string {
		m := &(*document)[s.IntN(len(*document))]
		m.name = pick(s, misspelt(s, m.name, known), otherCase(s, m.name))
		return "document " + m.name
	},
	func(s source, document *object, at int) string {
		m := find(*document, "Version")
		m.value = pick(s, "2012-10-18", "2012", "")
		return "version " + m.value.(string)
	},
}
