package protobuf

import (
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
)

// NameValues converts attributes.
func NameValues(attributes []queue.Attribute) []*fsmpb.NameValue {
	if len(attributes) == 0 {
		return nil
	}
	values := make([]fsmpb.NameValue, len(attributes))
	pointers := make([]*fsmpb.NameValue, len(attributes))
	for i, a := range attributes {
		values[i].Name, values[i].Value = a.Name, a.Value
		pointers[i] = &values[i]
	}
	return pointers
}

// Attributes is the inverse of NameValues.
func Attributes(values []*fsmpb.NameValue) []queue.Attribute {
	if len(values) == 0 {
		return nil
	}
	out := make([]queue.Attribute, len(values))
	for i, v := range values {
		out[i] = queue.Attribute{Name: v.Name, Value: v.Value}
	}
	return out
}

// TagValues converts tags.
func TagValues(tags []queue.Tag) []*fsmpb.NameValue {
	if len(tags) == 0 {
		return nil
	}
	values := make([]fsmpb.NameValue, len(tags))
	pointers := make([]*fsmpb.NameValue, len(tags))
	for i, t := range tags {
		values[i].Name, values[i].Value = t.Key, t.Value
		pointers[i] = &values[i]
	}
	return pointers
}

// Tags is the inverse of TagValues.
func Tags(values []*fsmpb.NameValue) []queue.Tag {
	if len(values) == 0 {
		return nil
	}
	out := make([]queue.Tag, len(values))
	for i, v := range values {
		out[i] = queue.Tag{Key: v.Name, Value: v.Value}
	}
	return out
}

// MessageAttributeValues converts the attributes of a message.
func MessageAttributeValues(attributes []queue.MessageAttribute) []*fsmpb.MessageAttribute {
	if len(attributes) == 0 {
		return nil
	}
	values := make([]fsmpb.MessageAttribute, len(attributes))
	pointers := make([]*fsmpb.MessageAttribute, len(attributes))
	for i, a := range attributes {
		values[i].Name, values[i].DataType, values[i].Value = a.Name, a.DataType, a.Value
		pointers[i] = &values[i]
	}
	return pointers
}

// MessageAttributes is the inverse of MessageAttributeValues.
func MessageAttributes(values []*fsmpb.MessageAttribute) []queue.MessageAttribute {
	if len(values) == 0 {
		return nil
	}
	out := make([]queue.MessageAttribute, len(values))
	for i, v := range values {
		out[i] = queue.MessageAttribute{Name: v.Name, DataType: v.DataType, Value: v.Value}
	}
	return out
}
