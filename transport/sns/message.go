package sns

import (
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/notification"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/awswire"
)

// message holds the members that Publish and an entry of PublishBatch share.
type message struct {
	Message         awswire.Text
	Subject         awswire.Text
	Structure       awswire.Text
	Attributes      []attributeValue
	DeduplicationID awswire.Text
	GroupID         awswire.Text
}

// messageMembers returns the members of a structure with a message.
func messageMembers[T any](at func(*T) *message) []awswire.Member[T] {
	return []awswire.Member[T]{
		awswire.OptionalString("Message", func(v *T) *awswire.Text { return &at(v).Message }),
		awswire.OptionalString("Subject", func(v *T) *awswire.Text { return &at(v).Subject }),
		awswire.OptionalString("MessageStructure", func(v *T) *awswire.Text { return &at(v).Structure }),
		awswire.Within("MessageAttributes", awswire.StructureMap("MessageAttributes", "entry", attributeValueSchema,
			func(v *attributeValue) *string { return &v.Name }, func(v *T) *[]attributeValue { return &at(v).Attributes })),
		awswire.OptionalString("MessageDeduplicationId", func(v *T) *awswire.Text { return &at(v).DeduplicationID }),
		awswire.OptionalString("MessageGroupId", func(v *T) *awswire.Text { return &at(v).GroupID }),
	}
}

// attributeValue is one message attribute on the wire.
type attributeValue struct {
	Name        string
	DataType    string
	StringValue awswire.Text
	BinaryValue string // raw bytes
}

var attributeValueSchema = awswire.Structure(
	awswire.String("DataType", func(v *attributeValue) *string { return &v.DataType }),
	awswire.OptionalString("StringValue", func(v *attributeValue) *awswire.Text { return &v.StringValue }),
	awswire.Blob("BinaryValue", func(v *attributeValue) *string { return &v.BinaryValue }),
)

// domainAttributes converts message attributes, in the order of the request. A value must be in the
// field of its type (recorded at SNS).
func domainAttributes(values []attributeValue) ([]queue.MessageAttribute, error) {
	out := make([]queue.MessageAttribute, len(values))
	for i := range values {
		v := &values[i]
		if v.DataType == "" {
			return nil, absent("messageAttributes." + refusal.Echo(v.Name) + ".member.dataType")
		}
		if _, custom, given := strings.Cut(v.DataType, "."); given && custom == "" {
			return nil, refusal.New(refusal.ParameterValueInvalid, string(notification.BadAttributeType(v.Name)))
		}
		a := queue.MessageAttribute{Name: v.Name, DataType: v.DataType, Value: v.StringValue.Value}
		field := "String"
		if a.IsBinary() {
			field, a.Value = "Binary", v.BinaryValue
		}
		if a.Value == "" && (v.StringValue.Value != "" || v.BinaryValue != "") {
			return nil, refusal.New(refusal.ParameterValueInvalid,
				"The message attribute '", refusal.Echo(v.Name), "' with type '", refusal.Echo(v.DataType), "' must use field '", field,
				"'.")
		}
		out[i] = a
	}
	return out, nil
}

// structureJSON is the MessageStructure of a message with a text for each protocol.
const structureJSON = "json"

// entry converts a message. It keeps the text of a structured one for resolve.
func (m *message) entry() (queue.PublishEntry, error) {
	attributes, refused := domainAttributes(m.Attributes)
	if refused != nil {
		return queue.PublishEntry{}, refused
	}
	if m.Structure.Given && m.Structure.Value != structureJSON {
		return queue.PublishEntry{}, refusal.SNSInvalid("MessageStructure")
	}
	return queue.PublishEntry{
		Message: m.Message.Value, Subject: m.Subject.Value, SubjectGiven: m.Subject.Given, Attributes: attributes,
		GroupID: m.GroupID.Value, GroupIDGiven: m.GroupID.Given,
		DeduplicationID: m.DeduplicationID.Value, DeduplicationIDGiven: m.DeduplicationID.Given,
	}, nil
}

// resolve replaces the texts of structured messages by the texts for queues. It checks in the order of
// SNS: the structure of one message last (sns.md 3.5), those of a batch before the ids (recorded).
// topicRefuses returns the error of an entry that depends on its topic.
func resolve(cmd *queue.Publish, structured func(i int) bool, topicRefuses func(*queue.PublishEntry) error) error {
	texts := make(map[int]string)
	for i := range cmd.Entries {
		e := &cmd.Entries[i]
		if !structured(i) {
			continue
		}
		if refused := cmd.Validate(); refused != nil && (!cmd.Batch || e.CheckMessage() != nil) {
			return refused
		}
		text, err := notification.QueueText(e.Message)
		if err != nil {
			if !cmd.Batch {
				if first := topicRefuses(e); first != nil {
					return first
				}
			}
			return refusal.New(refusal.SNSInvalidParameter, err.Error())
		}
		texts[i] = text
	}
	if len(texts) == 0 {
		return nil
	}
	if refused := cmd.Validate(); refused != nil {
		return refused
	}
	for i := range cmd.Entries {
		if text, ok := texts[i]; ok {
			cmd.Entries[i].Message = text
		}
	}
	return nil
}

func (m *message) structured() bool { return m.Structure.Given }
