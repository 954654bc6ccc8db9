package rules

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seriatimq/seriatim/queue/property"
)

// TestCanonicalSQL has golden texts: they are in snapshots and must never change.
func TestCanonicalSQL(t *testing.T) {
	t.Parallel()
	parameters := []property.Named{{Name: "b_1", Value: property.Long(1)}, {Name: "@A", Value: property.String("x")}}
	for _, c := range []struct{ text, want string }{
		{"1=1", "1 = 1"},
		{" color\n=\t'blue'\r\nand\nquantity=10 ", "color = 'blue' AND quantity = 10"},
		{"a!=1 or b<>2", "a <> 1 OR b <> 2"},
		{"a=1 AND (b=2 AND c=3) AND d=4", "a = 1 AND b = 2 AND c = 3 AND d = 4"},
		{"(a=1 OR b=2) OR (c=3)", "a = 1 OR b = 2 OR c = 3"},
		{"(a=1 OR b=2) AND c=3", "(a = 1 OR b = 2) AND c = 3"},
		{"a=1 OR (b=2 AND c=3)", "a = 1 OR b = 2 AND c = 3"},
		{"NOT(a=1)", "NOT a = 1"},
		{"NOT (a=1 AND b=2)", "NOT (a = 1 AND b = 2)"},
		{"not not exists ( a )", "NOT NOT EXISTS(a)"},
		{"((((a))))=((1))", "a = 1"},
		{"(a+1)*2>3-(4-b)", "(a + 1) * 2 > 3 - (4 - b)"},
		{"(a*1)/2>(3-4)-b", "a * 1 / 2 > 3 - 4 - b"},
		{"a-(-1)= - -b", "a - -1 = -(-b)"},
		{"a=+b AND c=-(d+1) AND e=+ +f AND g=-+h", "a = +b AND c = -(d + 1) AND e = +(+f) AND g = -(+h)"},
		{"a = -(5) OR a = -(-5) OR a = - 1.50 OR a = +5", "a = -5 OR a = 5 OR a = -1.5 OR a = +5"},
		{"a = -9223372036854775808 OR a = -(-9223372036854775808)", "a = -9223372036854775808 OR a = -(-9223372036854775808)"},
		{"a in(1,'b' , c+1,NULL,true)", "a IN (1, 'b', c + 1, NULL, TRUE)"},
		{"a NOT IN ((1))", "a NOT IN (1)"},
		{"a is null and sys.subject is not null", "a IS NULL AND sys.Label IS NOT NULL"},
		{"a like '%b' and c not like d+'_' escape '\\'", "a LIKE '%b' AND c NOT LIKE d + '_' ESCAPE '\\'"},
		{
			"a = 007 OR a = 1.0 OR a = 2.50 OR a = 1E2 OR a = 101.5e+5 OR a = .5E-7 OR a = 1E16",
			"a = 7 OR a = 1.0 OR a = 2.5 OR a = 100.0 OR a = 10150000.0 OR a = 5E-08 OR a = 1E+16",
		},
		{"a = 'it''s' OR a = '' OR a = 'é\n'", "a = 'it''s' OR a = '' OR a = 'é\n'"},
		{
			`"a b"=1 AND [c]]d]=2 AND "e""f"=3 AND [ok]=4 AND "AND"=5 AND größe=6 AND [1st]=7 AND [_x]=8`,
			`[a b] = 1 AND [c]]d] = 2 AND [e"f] = 3 AND ok = 4 AND [AND] = 5 AND [größe] = 6 AND [1st] = 7 AND [_x] = 8`,
		},
		{"USER.a=1 AND user . [b c]=2 AND user.not=3 AND sys=4", "a = 1 AND [b c] = 2 AND [not] = 3 AND sys = 4"},
		{
			"SYS.messageid='x' AND sys.[To]='y' AND sys.scheduledEnqueueTime IS NULL AND sys.TransactionPartitionKey IS NULL",
			"sys.MessageId = 'x' AND sys.To = 'y' AND sys.ScheduledEnqueueTimeUtc IS NULL AND sys.ViaPartitionKey IS NULL",
		},
		{
			"p('a')=PROPERTY(b+'c') AND NewID()<>newid ( ) AND p=1 AND newid=2",
			"property('a') = property(b + 'c') AND newid() <> newid() AND p = 1 AND newid = 2",
		},
		{"a=@a AND b=@B_1 AND c=-@b_1", "a = @A AND b = @b_1 AND c = -@b_1"},
	} {
		f, err := ParseSQL(c.text, parameters)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if f.String() != c.want {
			t.Errorf("%s becomes\n%s, want\n%s", c.text, f, c.want)
		}
		again, err := RestoreSQL(f.String(), f.Parameters())
		if err != nil || !reflect.DeepEqual(f, again) {
			t.Errorf("%s is read as %+v (%v), want %+v", f, again, err, f)
		}
	}
}

func TestCanonicalAction(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{
			"SET quantity = quantity / 2; REMOVE priority;SET sys.CorrelationId = 'low';",
			"SET quantity = quantity / 2; REMOVE priority; SET sys.CorrelationId = 'low'",
		},
		{"set sys.label='SalesEvent'", "SET sys.Label = 'SalesEvent'"},
		{"SET source='routedOrders'", "SET source = 'routedOrders'"},
		{"SET a=1 SET b=a REMOVE user.[c d]", "SET a = 1; SET b = a; REMOVE [c d]"},
		{"SET a=1, REMOVE b", "SET a = 1; REMOVE b"},
		{"SET a = NULL; REMOVE sys.To", "SET a = NULL; REMOVE sys.To"},
		{"SET sys.TimeToLive = '00:05:00'", "SET sys.TimeToLive = '00:05:00'"},
		{"SET sys.SessionId = user.OrderNum + newid()", "SET sys.SessionId = OrderNum + newid()"},
	} {
		a, err := ParseAction(c.text, nil)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if a.String() != c.want {
			t.Errorf("%s becomes\n%s, want\n%s", c.text, a, c.want)
		}
		again, err := RestoreAction(a.String(), nil)
		if err != nil || !reflect.DeepEqual(a, again) {
			t.Errorf("%s is read as %+v (%v)", a, again, err)
		}
	}
}

// TestSyntaxErrors checks the position, the token and the reason.
func TestSyntaxErrors(t *testing.T) {
	t.Parallel()
	parse := func(text string) error {
		_, err := ParseSQL(text, nil)
		return err
	}
	for _, c := range []struct{ text, want string }{
		{
			"",
			"line=1, column=0, Token in error= , Additional details= syntax error, unexpected the end of the expression, expecting a",
		},
		{"a =", "column=3, Token in error= , Additional details= syntax error, unexpected the end of the expression"},
		{"a = 1\nAND\n  b = = 2", "line=3, column=6, Token in error= =,"},
		{"é = 1 AND ü = ", "line=1, column=14"},
		{"a", "column=0, Token in error= a, Additional details= a value is not a condition; compare it, for example with = TRUE"},
		{"TRUE", "Token in error= TRUE, Additional details= a value is not a condition"},
		{"a = 1 AND b", "column=10, Token in error= b, Additional details= a value is not"},
		{"a AND b = 1", "column=0, Token in error= a, Additional details= a value is not"},
		{"NOT a", "column=4, Token in error= a, Additional details= a value is not"},
		{"a + 1", "Token in error= a + 1, Additional details= a value is not"},
		{"(a = 1) = TRUE", "column=0, Token in error= (a = 1), Additional details= a condition cannot be an operand"},
		{"TRUE = (a = 1)", "column=7, Token in error= (a = 1), Additional details= a condition cannot"},
		{"1 + (a = 1) = 2", "Token in error= (a = 1), Additional details= a condition cannot"},
		{"(a = 1) + 1 = 2", "Token in error= (a = 1), Additional details= a condition cannot"},
		{"-(a = 1) = 2", "Token in error= (a = 1), Additional details= a condition cannot"},
		{"a IN (b = 1)", "column=8, Token in error= =, Additional details= syntax error, unexpected =, expecting )"},
		{"a = 1 = 2", "column=6, Token in error= =, Additional details= syntax error, unexpected =, expecting an operator"},
		{"a = 1 b", "Token in error= b, Additional details= syntax error, unexpected b, expecting an operator"},
		{"a IS 1", "unexpected 1, expecting NULL"},
		{"1 IS NULL", "Token in error= 1 IS NULL, Additional details= only a property can be NULL"},
		{"p('a') IS NULL", "only a property can be NULL"},
		{"EXISTS(1)", "unexpected 1, expecting a property"},
		{"EXISTS a", "unexpected a, expecting ("},
		{"a NOT = 1", "column=6, Token in error= =, Additional details= syntax error, unexpected =, expecting IN or LIKE"},
		{"a IN 1", "unexpected 1, expecting ("},
		{"a IN ()", "unexpected ), expecting a value"},
		{"a IN (1", "unexpected the end of the expression, expecting )"},
		{"a LIKE 5", "the pattern of LIKE is not a string"},
		{"a LIKE 'b' ESCAPE 'cd'", "column=18, Token in error= 'cd', Additional details= the escape character of LIKE is not"},
		{"a LIKE 'b' ESCAPE ''", "the escape character of LIKE is not"},
		{"a LIKE 'b!' ESCAPE '!'", "the pattern ends with its escape character"},
		{"a = 'b", "column=4, Token in error= 'b, Additional details= a string has no end"},
		{"[a = 1", "a name has no end: a bracket is missing"},
		{`"a = 1`, "a name has no end: a quotation mark is missing"},
		{"[] = 1", "a name is empty"},
		{"a = 1.", "digits must follow the point"},
		{"a = 1E+", "digits must follow the E"},
		{"1st = 1", "Token in error= 1st, Additional details= a letter follows a number"},
		{"_a = 1", "Token in error= _, Additional details= a name that does not begin with a letter needs brackets"},
		{"a = 9223372036854775808", "column=4, Token in error= 9223372036854775808, Additional details= the number is beyond"},
		{"a = -9223372036854775809", "the number is beyond the range of an integer"},
		{"a = 1E999", "the number is beyond the range of a double"},
		{"a = #", "Token in error= #, Additional details= the character has no meaning here"},
		{"a = ‘b’", "Token in error= ‘, Additional details= the character has no meaning here"},
		{"a = \xff", "not valid UTF-8"},
		{"a = '\xff'", "not valid UTF-8"},
		{"sys.Body = 1", "column=0, Token in error= sys.Body, Additional details= there is no such system property"},
		{"x.y = 1", "column=0, Token in error= x., Additional details= a scope is sys or user"},
		{"sys. = 1", "unexpected =, expecting the name of a property"},
		{"f(1) = 1", "column=0, Token in error= f, Additional details= there is no such function"},
		{"newid(1) = 1", "unexpected 1, expecting )"},
		{"p() = 1", "unexpected ), expecting a value"},
		{"a = @b", "Token in error= @b, Additional details= the parameter has no value"},
		{"a = @", "the name of a parameter begins with a letter"},
		{"a = @1", "the name of a parameter begins with a letter"},
		{"a SET 1", "unexpected SET, expecting an operator"},
		{strings.Repeat("(", 65) + "a = 1" + strings.Repeat(")",
			65), "column=65, Token in error= a, Additional details= the expression has more than 64 nested levels"},
		{strings.Repeat("NOT ", 65) + "a = 1", "more than 64 nested levels"},
		{"a = " + strings.Repeat("+", 65) + "1", "more than 64 nested levels"},
		{"a = " + strings.Repeat("p(", 65) + "1" + strings.Repeat(")", 65), "more than 64 nested levels"},
		{"a = '" + strings.Repeat("x", 1019) + "'", "the SQL expression has 1025 characters, at most 1024 are allowed"},
		{"a = '" + strings.Repeat("x", 100), "Token in error= '" + strings.Repeat("x", 63) + "..., "},
	} {
		if err := parse(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
	for _, text := range []string{
		"a = '" + strings.Repeat("é", 1018) + "'",
		strings.Repeat("(", 64) + "a = 1" + strings.Repeat(")", 64),
		"a = 1" + strings.Repeat("+1", 500),
		"a=1" + strings.Repeat(" AND a=1", 120),
	} {
		if err := parse(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestActionErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		// The vendor's answer: [Token line=1, column=0, Token in error= EventType, Additional details= syntax error, unexpected
		// IDENTIFIER, expecting SET, or REMOVE].
		{
			"EventType = OriginalEventType",
			"There was an error parsing the SQL expression. [Token line=1, column=0, Token in error= EventType, " +
				"Additional details= syntax error, unexpected EventType, expecting SET or REMOVE]",
		},
		{"", "unexpected the end of the expression, expecting SET or REMOVE"},
		{"SET a = 1,", "unexpected the end of the expression, expecting SET or REMOVE"},
		{"SET a = 1;;", "unexpected ;, expecting SET or REMOVE"},
		{"SET a", "unexpected the end of the expression, expecting ="},
		{"SET 'a' = 1", "unexpected 'a', expecting a property"},
		{"SET a = b = 1", "column=10, Token in error= =, Additional details= syntax error, unexpected =, expecting SET or REMOVE"},
		{"SET a = (b = 1)", "a condition cannot be an operand"},
		{"SET sys.DeliveryCount = 1", "column=4, Token in error= sys.DeliveryCount, Additional details= the system property is read-only"},
		{"REMOVE sys.SequenceNumber", "the system property is read-only"},
		{"SET sys.Body = 'MessageX'", "there is no such system property"},
		{
			"SET sys.TimeToLive = 5",
			"Token in error= 5, Additional details= the system property cannot have this value; its type is timespan",
		},
		{"SET sys.ScheduledEnqueueTimeUtc = 'tomorrow'", "the system property cannot have this value"},
		{strings.Repeat("SET a=1;", 33), "column=256, Token in error= SET, Additional details= an action can have 32 statements"},
		{"SET a = '" + strings.Repeat("x", 1016), "the SQL expression has 1025 characters"},
	} {
		if _, err := ParseAction(c.text, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
	if _, err := ParseAction(strings.Repeat("SET a=1;", 32), nil); err != nil {
		t.Error(err)
	}
}

func TestParameterErrors(t *testing.T) {
	t.Parallel()
	one := property.Long(1)
	for _, c := range []struct {
		parameters []property.Named
		want       string
	}{
		{[]property.Named{{Name: "@", Value: one}}, "the name of the parameter @ is invalid"},
		{[]property.Named{{Name: "1", Value: one}}, "the name of the parameter @1 is invalid"},
		{[]property.Named{{Name: "a b", Value: one}}, "is invalid"},
		{[]property.Named{{Name: "é", Value: one}}, "is invalid"},
		{[]property.Named{{Name: "a"}}, "the value of the parameter @a is invalid: it has none"},
		{[]property.Named{{Name: "a", Value: property.Binary("x")}}, "binary values cannot be compared"},
		{[]property.Named{{Name: "a", Value: property.String("\xff")}}, "not valid UTF-8"},
		{[]property.Named{{Name: "a", Value: property.String(strings.Repeat("é", 1025))}}, "more than 1024 characters"},
		{[]property.Named{{Name: "a", Value: one}, {Name: "@A", Value: one}}, "has two values"},
		{make([]property.Named, 101), "a SQL expression can have 100 parameters"},
	} {
		for _, parse := range []func() error{
			func() error { _, err := ParseSQL("1=1", c.parameters); return err },
			func() error { _, err := ParseAction("SET a=1", c.parameters); return err },
		} {
			if err := parse(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: %v, want %q", c.parameters, err, c.want)
			}
		}
	}
}

func FuzzParseSQL(f *testing.F) {
	for _, text := range []string{
		"1=1", "a!=1 or not (b<>2 and c like '%x_' escape '!')", "sys.To IN ('a',\"b c\",[d]]e],@p) OR EXISTS(user.f)",
		"-a*(+b-1)/2%3 >= 1.5E-7", "p('a')=newid() AND b IS NOT NULL", "größe='ß' AND a = 1E16", "((((", "a = -(-9223372036854775808)",
		"a = '" + strings.Repeat("x", 1000), "SET a = b + 1; REMOVE sys.Label", "a NOT IN (1E14,NULL,TRUE)",
	} {
		f.Add(text)
	}
	m := messageOf(f, "a", 5, "b", "text", "c", 1.5, "d", nil, "sys.Label", "label")
	parameters := []property.Named{{Name: "@p", Value: property.String("x")}}
	f.Fuzz(func(t *testing.T, text string) {
		check := func(err error) {
			if !utf8.ValidString(err.Error()) || len(err.Error()) > 500 {
				t.Fatalf("%q: the error is %q", text, err)
			}
		}
		if filter, err := ParseSQL(text, parameters); err != nil {
			check(err)
		} else {
			again, err := RestoreSQL(filter.String(), parameters)
			if err != nil || !reflect.DeepEqual(filter, again) {
				t.Fatalf("%q is %q, then %+v (%v)", text, filter, again, err)
			}
			first, fault := filter.Evaluate(m)
			if second, other := again.Evaluate(m); first != second || fault != other {
				t.Fatalf("%q is %s, then %s", text, first, second)
			}
			if x := filter.Explain(m); x.Result != first || x.Text != filter.String() {
				t.Fatalf("%q is %s, the explanation %+v", text, first, x)
			}
		}
		if action, err := ParseAction(text, parameters); err != nil {
			check(err)
		} else {
			again, err := RestoreAction(action.String(), parameters)
			if err != nil || !reflect.DeepEqual(action, again) {
				t.Fatalf("%q is %q, then %+v (%v)", text, action, again, err)
			}
			action.Evaluate(m)
		}
	})
}
