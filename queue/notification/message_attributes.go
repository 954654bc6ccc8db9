package notification

import (
	"fmt"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/message"
)

// AttributeError is the error for a message attribute of a publish. Its code is
// ParameterValueInvalid, which only SNS has.
type AttributeError string

// Error returns the text.
func (e AttributeError) Error() string { return string(e) }

// Errors about names of message attributes, with the texts recorded at SNS.
const (
	ErrAttributeNameLength AttributeError = "Length of message attribute name must be less than 256 bytes."
	ErrAttributeNameStart  AttributeError = "Invalid message attribute name starting with character '.' was found."
	ErrAttributeNameEnd    AttributeError = "Invalid message attribute name ending with character '.' was found."
	ErrAttributeNameDots   AttributeError = "Message attribute name can not have successive '.' character."
)

// CheckAttributes checks the message attributes of a publish, with the errors recorded at SNS.
// Their number is limited only by the size of the message (SNS API).
func CheckAttributes(attributes []message.MessageAttribute) error {
	seen := make(map[string]bool, len(attributes)) // there may be thousands; never iterated
	for i := range attributes {
		a := &attributes[i]
		if err := checkAttributeName(a.Name); err != nil {
			return err
		}
		if seen[a.Name] {
			return AttributeError("The message attribute '" + a.Name + "' is given more than once.")
		}
		seen[a.Name] = true
		base := a.BaseType()
		switch {
		case base == "" || len(a.DataType) > limits.AttributeTypeLengthMax || message.BadCharacter(a.DataType):
			return BadAttributeType(a.Name)
		case a.Value == "":
			return AttributeError("The message attribute '" + a.Name +
				"' must contain non-empty message attribute value for message attribute type '" + a.DataType + "'.")
		case a.IsBinary():
		case message.BadCharacter(a.Value):
			return AttributeError("The message attribute '" + a.Name + "' has a value with invalid characters.")
		case base == "Number" && !message.IsNumber(a.Value):
			return AttributeError("Could not cast message attribute '" + a.Name + "' value to number.")
		}
	}
	return nil
}

// BadAttributeType returns the error for an attribute type, as recorded at SNS.
func BadAttributeType(name string) AttributeError {
	return AttributeError("The message attribute '" + name +
		"' has an invalid message attribute type, the set of supported type prefixes is Binary, Number, and String.")
}

func checkAttributeName(name string) error {
	switch {
	case name == "" || len(name) > limits.AttributeNameLengthMax:
		return ErrAttributeNameLength
	case name[0] == '.':
		return ErrAttributeNameStart
	case name[len(name)-1] == '.':
		return ErrAttributeNameEnd
	}
	for i, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
		case r != '.':
			return AttributeError(fmt.Sprintf("Invalid non-alphanumeric character '#x%02X' was found in the message attribute name. "+
				"Can only include alphanumeric characters, hyphens, underscores, or dots.", r))
		case name[i-1] == '.':
			return ErrAttributeNameDots
		}
	}
	return nil
}
