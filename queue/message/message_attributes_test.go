package message

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/refusal/refusaltest"
)

func several(n int) []MessageAttribute {
	attrs := make([]MessageAttribute, n)
	for i := range attrs {
		attrs[i] = MessageAttribute{"n" + strings.Repeat("x", i), "String", "v"}
	}
	return attrs
}

func TestCheckMessageAttributes(t *testing.T) {
	const (
		nameRule = "Message (user) attributes name can only contain upper and lower score characters, digits, " +
			"periods, hyphens and underscores. "
		reservedRule = "You can't use message attribute names beginning with 'AWS.' or 'Amazon.'. These strings are " +
			"reserved for internal use. Additionally, they cannot start or end with '.'."
		nameTooLong = "Message (user) attribute names must be shorter than 256 Bytes"
		typeTooLong = "Message (user) attribute types must be shorter than 256 Bytes"
		typeRule    = "The type of message (user) attribute 'n' is invalid. You must use only the following " +
			"supported type prefixes: Binary, Number, String."
		numberRule = "Can't cast the value of message (user) attribute 'n' to a number."
	)
	named := func(name string) []MessageAttribute { return []MessageAttribute{{name, "String", "v"}} }
	typed := func(dataType, value string) []MessageAttribute { return []MessageAttribute{{"n", dataType, value}} }
	cases := []struct {
		name  string
		attrs []MessageAttribute
		text  string
	}{
		{"ten", several(10), ""},
		{"eleven", several(11), "Number of message attributes [11] exceeds the allowed maximum [10]."},
		{"fifty", several(50), "Number of message attributes [50] exceeds the allowed maximum [10]."},
		{"same name twice", append(named("a"), named("a")...), "Message (user) attribute 'a' is given more than once."},
		{"name empty", named(""), "The request must contain non-empty message (user) attribute names."},
		{"name of 256", named(strings.Repeat("n", 256)), ""},
		{"name of 257", named(strings.Repeat("n", 257)), nameTooLong},
		{"name with all it may have", named("aZ09_-.é-ß"), ""},
		{"name a!b", named("a!b"), nameRule},
		{"name a(b", named("a(b"), nameRule},
		{"name a?b", named("a?b"), nameRule},
		{"name with a blank", named("a b"), nameRule},
		{"name not UTF-8", named("a\xff"), nameRule},
		{"name with a control", named("a\u0085"), nameRule},
		{"name a..b", named("a..b"), nameRule},
		{"name .x", named(".x"), reservedRule},
		{"name x.", named("x."), reservedRule},
		{"name aWs.x", named("aWs.x"), reservedRule},
		{"name AMAZON.x", named("AMAZON.x"), reservedRule},
		{"name AWSx", named("AWSx"), ""},
		{"reserved name where it is not reserved", named("seriatim.Other"), ""},
		{"type empty", typed("", "v"), typeRule},
		{"type Invalid", typed("Invalid", "v"), typeRule},
		{"type in lower case", typed("string", "v"), typeRule},
		{"type Stringy", typed("Stringy", "v"), typeRule},
		{"type with a control", typed("String.\x00", "v"), typeRule},
		{"type Number.java.lang.Long", typed("Number.java.lang.Long", "1"), ""},
		{"type of 256", typed("Number."+strings.Repeat("x", 249), "1"), ""},
		{"type of 257", typed("Number."+strings.Repeat("x", 250), "1"), typeTooLong},
		{"empty string", typed("String", ""), "Message (user) attribute 'n' must contain a non-empty value of type 'String'."},
		{"empty number", typed("Number.x", ""), "Message (user) attribute 'n' must contain a non-empty value of type 'Number'."},
		{"empty binary", typed("Binary", ""), "Message (user) attribute 'n' must contain a non-empty value of type 'Binary'."},
		{"bad character", typed("String", "a\x08"),
			"Invalid characters found in the value of message (user) attribute 'n'. Valid unicode characters are #x9 | " +
				"#xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF"},
		{"any byte in binary", typed("Binary", "\x00\xff"), ""},
		{"number", typed("Number", "1493147359900"), ""},
		{"negative number", typed("Number", "-1.5e-10"), ""},
		{"number with plus", typed("Number", "+.5E+3"), ""},
		{"zero", typed("Number", "000.000"), ""},
		{"38 digits", typed("Number", strings.Repeat("9", 38)+"000"), ""},
		{"39 digits", typed("Number", strings.Repeat("9", 39)), numberRule},
		{"largest exponent", typed("Number", "9e126"), ""},
		{"exponent too large", typed("Number", "10e126"), numberRule},
		{"smallest exponent", typed("Number", "0.1e-127"), ""},
		{"exponent too small", typed("Number", "1e-129"), numberRule},
		{"word", typed("Number", "abc"), numberRule},
		{"point", typed("Number", "."), numberRule},
		{"two points", typed("Number", "1.2.3"), numberRule},
		{"exponent alone", typed("Number", "e5"), numberRule},
		{"no exponent", typed("Number", "5e"), numberRule},
		{"hexadecimal", typed("Number", "0x10"), numberRule},
		{"infinity", typed("Number", "Inf"), numberRule},
		{"blank", typed("Number", " 1"), numberRule},
		{"huge exponent", typed("Number", "1e99999999999999999999"), numberRule},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := CheckAttributes(c.attrs, NotReserved, false)
			refusaltest.Want(t, err, refusal.InvalidParameterValue, c.text)
		})
	}
}
