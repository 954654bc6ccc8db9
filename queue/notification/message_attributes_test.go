package notification

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/message"
)

func TestCheckAttributes(t *testing.T) {
	t.Parallel()
	const badType = "The message attribute 'x' has an invalid message attribute type, the set of supported type " +
		"prefixes is Binary, Number, and String."
	cases := []struct {
		name, dataType, value, want string
	}{
		{"x", "String", "v", ""},
		{"a.b-c_1", "String.Array", `["v"]`, ""},
		{strings.Repeat("n", 256), "Number", "-1.5e3", ""},
		{"x", "Binary", "\x00\xff", ""},
		{"x", "Binary.custom", "\x00", ""},
		{"", "String", "v", "Length of message attribute name must be less than 256 bytes."},
		{strings.Repeat("n", 257), "String", "v", "Length of message attribute name must be less than 256 bytes."},
		{".x", "String", "v", "Invalid message attribute name starting with character '.' was found."},
		{"x.", "String", "v", "Invalid message attribute name ending with character '.' was found."},
		{"x..y", "String", "v", "Message attribute name can not have successive '.' character."},
		{"x^y", "String", "v", "Invalid non-alphanumeric character '#x5E' was found in the message attribute name. " +
			"Can only include alphanumeric characters, hyphens, underscores, or dots."},
		{"x", "", "v", badType},
		{"x", "string", "v", badType},
		{"x", "String." + strings.Repeat("s", 250), "v", badType},
		{"x", "String.", "", "The message attribute 'x' must contain non-empty message attribute value for message " +
			"attribute type 'String.'."},
		{"x", "Binary", "", "The message attribute 'x' must contain non-empty message attribute value for message " +
			"attribute type 'Binary'."},
		{"x", "String", "\x00", "The message attribute 'x' has a value with invalid characters."},
		{"x", "Number", "ten", "Could not cast message attribute 'x' value to number."},
	}
	for _, c := range cases {
		got := ""
		if err := CheckAttributes([]message.MessageAttribute{{Name: c.name, DataType: c.dataType, Value: c.value}}); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q %q %q: %s, want %s", c.name, c.dataType, c.value, got, c.want)
		}
	}
	twice := []message.MessageAttribute{{Name: "x", DataType: "String", Value: "1"}, {Name: "y", DataType: "String", Value: "1"},
		{Name: "x", DataType: "String", Value: "2"}}
	if err := CheckAttributes(twice); err == nil || err.Error() != "The message attribute 'x' is given more than once." {
		t.Errorf("a name twice: %v", err)
	}
}
