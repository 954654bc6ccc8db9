package message

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// MessageAttribute is a typed user attribute of a message. DataType begins
// with String, Number or Binary; Value holds the text or the raw bytes.
type MessageAttribute struct {
	Name     string
	DataType string
	Value    string
}

// IsBinary reports whether the data type is Binary, perhaps with a custom suffix (AWS).
func (m *MessageAttribute) IsBinary() bool { return baseType(m.DataType) == typeBinary }

// BaseType returns String, Number or Binary, the data type without a custom suffix, and "" for any
// other type.
func (m *MessageAttribute) BaseType() string { return baseType(m.DataType) }

// Size returns the bytes that count against the maximum size of a message: the body, and names,
// types and values of attributes.
func Size(body string, attrs []MessageAttribute) int64 {
	n := len(body)
	for i := range attrs {
		m := &attrs[i]
		n += len(m.Name) + len(m.DataType) + len(m.Value)
	}
	return int64(n)
}

// Base types of message attributes.
const (
	typeString = "String"
	typeNumber = "Number"
	typeBinary = "Binary"
)

const (
	// reservedAttributesMax is the number of reserved attributes allowed beside
	// MessageAttributesMax.
	reservedAttributesMax = 2
)

// CheckAttributes checks the attributes of a message. It returns the partition key if names is
// Reserved.
func CheckAttributes(attrs []MessageAttribute, names ReservedNames, native bool) (partitionKey string, err *refusal.Error) {
	if len(attrs) == 0 {
		return "", nil
	}
	if names == MaybeReserved {
		attrs = withoutReserved(attrs)
	}
	if names == Reserved && (native || len(attrs) <= limits.MessageAttributesMax+reservedAttributesMax) {
		if _, partitionKey, attrs, err = SplitReserved(attrs); err != nil {
			return "", err
		}
	}
	if native {
		return partitionKey, checkNativeAttributes(attrs)
	}
	if len(attrs) > limits.MessageAttributesMax {
		return "", refusal.InvalidParameter("Number of message attributes [", strconv.Itoa(len(attrs)),
			"] exceeds the allowed maximum [", strconv.Itoa(limits.MessageAttributesMax), "].")
	}
	for i := range attrs {
		if err := checkAttribute(&attrs[i]); err != nil {
			return "", err
		}
		for j := range i {
			if attrs[j].Name == attrs[i].Name {
				return "", refusal.InvalidParameter("Message (user) attribute '", attrs[i].Name, "' is given more than once.")
			}
		}
	}
	return partitionKey, nil
}

func checkAttribute(m *MessageAttribute) *refusal.Error {
	if err := checkAttributeName(m.Name); err != nil {
		return err
	}
	if err := checkType(m); err != nil {
		return err
	}
	base := baseType(m.DataType)
	switch {
	case m.Value == "":
		return refusal.InvalidParameter("Message (user) attribute '", m.Name, "' must contain a non-empty value of type '", base, "'.")
	case base == typeBinary:
		return nil
	case BadCharacter(m.Value):
		return refusal.InvalidParameter("Invalid characters found in the value of message (user) attribute '", m.Name,
			"'. Valid unicode characters are "+validCharacters)
	case base == typeNumber && !validNumber(m.Value):
		return notANumber(m)
	}
	return nil
}

func notANumber(m *MessageAttribute) *refusal.Error {
	return refusal.InvalidParameter("Can't cast the value of message (user) attribute '", m.Name, "' to a number.")
}

func checkType(m *MessageAttribute) *refusal.Error {
	if len(m.DataType) > limits.AttributeTypeLengthMax {
		return refusal.InvalidParameter("Message (user) attribute types must be shorter than 256 Bytes")
	}
	if baseType(m.DataType) == "" || BadCharacter(m.DataType) {
		return refusal.InvalidParameter("The type of message (user) attribute '", m.Name,
			"' is invalid. You must use only the following supported type prefixes: Binary, Number, String.")
	}
	return nil
}

func checkAttributeName(name string) *refusal.Error {
	if name == "" {
		return refusal.InvalidParameter("The request must contain non-empty message (user) attribute names.")
	}
	if len(name) > limits.AttributeNameLengthMax {
		return refusal.InvalidParameter("Message (user) attribute names must be shorter than 256 Bytes")
	}
	for _, r := range name {
		if !nameCharacter(r) {
			return badAttributeName()
		}
	}
	if hasPrefixFold(name, "AWS.") || hasPrefixFold(name, "Amazon.") || name[0] == '.' || name[len(name)-1] == '.' {
		return refusal.InvalidParameter("You can't use message attribute names beginning with 'AWS.' or 'Amazon.'. " +
			"These strings are reserved for internal use. Additionally, they cannot start or end with '.'.")
	}
	if strings.Contains(name, "..") {
		return badAttributeName()
	}
	return nil
}

// The text ends in a blank, as AWS sends it.
// checkNativeAttributes checks attributes that come by another API than SQS or SNS. Their number is
// limited only by the size of the message.
func checkNativeAttributes(attrs []MessageAttribute) *refusal.Error {
	seen := make(map[string]bool, len(attrs)) // there may be thousands; never iterated
	for i := range attrs {
		m := &attrs[i]
		switch {
		case m.Name == "" || len(m.Name) > limits.AttributeNameLengthMax || strings.Contains(m.Name, "\x00") || !utf8.ValidString(m.Name):
			return refusal.InvalidParameter("Message attribute names must have 1 to 256 bytes of UTF-8, without U+0000.")
		case seen[m.Name]:
			return refusal.InvalidParameter("Message (user) attribute '", m.Name, "' is given more than once.")
		}
		seen[m.Name] = true
		if err := checkType(m); err != nil {
			return err
		}
		switch base := baseType(m.DataType); {
		case base == typeString && !utf8.ValidString(m.Value):
			return refusal.InvalidParameter("The value of message attribute '", m.Name, "' is not UTF-8.")
		case base == typeNumber && !validNumber(m.Value):
			return notANumber(m)
		}
	}
	return nil
}

func badAttributeName() *refusal.Error {
	return refusal.InvalidParameter("Message (user) attributes name can only contain upper and lower score characters, " +
		"digits, periods, hyphens and underscores. ")
}

// nameCharacter reports whether an attribute name may contain r. AWS accepts letters such as ø
// beside the documented characters; here any valid character from U+00C0 on is accepted.
func nameCharacter(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.':
		return true
	}
	return r >= 0xC0 && r != utf8.RuneError && r != 0xFFFE && r != 0xFFFF
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func baseType(dataType string) string {
	base, _, _ := strings.Cut(dataType, ".")
	switch base {
	case typeString, typeNumber, typeBinary:
		return base
	}
	return ""
}

// Permitted reports whether SQS permits the attribute. A native API permits others, too.
func (m *MessageAttribute) Permitted() bool { return checkAttribute(m) == nil }
