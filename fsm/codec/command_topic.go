package codec

import (
	"fmt"
	"math"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/fsm/protobuf"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/attributes"
)

// createTopicMessage is the log form of cmd.
func createTopicMessage(cmd *queue.CreateTopic) *fsmpb.CreateTopic {
	return &fsmpb.CreateTopic{
		Topic:      cmd.Topic,
		TopicArn:   cmd.TopicARN,
		Attributes: protobuf.NameValues(cmd.Attributes),
		Tags:       protobuf.TagValues(cmd.Tags),
	}
}

// createTopicCommand is the inverse of createTopicMessage.
func createTopicCommand(m *fsmpb.CreateTopic) (*queue.CreateTopic, error) {
	return &queue.CreateTopic{
		Topic:      m.Topic,
		TopicARN:   m.TopicArn,
		Attributes: protobuf.Attributes(m.Attributes),
		Tags:       protobuf.Tags(m.Tags),
	}, nil
}

// deleteTopicMessage is the log form of cmd.
func deleteTopicMessage(cmd *queue.DeleteTopic) *fsmpb.DeleteTopic {
	return &fsmpb.DeleteTopic{Topic: cmd.Topic}
}

// deleteTopicCommand is the inverse of deleteTopicMessage.
func deleteTopicCommand(m *fsmpb.DeleteTopic) (*queue.DeleteTopic, error) {
	return &queue.DeleteTopic{Topic: m.Topic}, nil
}

// setTopicAttributesMessage is the log form of cmd.
func setTopicAttributesMessage(cmd *queue.SetTopicAttributes) *fsmpb.SetTopicAttributes {
	return &fsmpb.SetTopicAttributes{Topic: cmd.Topic, Attributes: protobuf.NameValues(cmd.Attributes)}
}

// setTopicAttributesCommand is the inverse of setTopicAttributesMessage.
func setTopicAttributesCommand(m *fsmpb.SetTopicAttributes) (*queue.SetTopicAttributes, error) {
	return &queue.SetTopicAttributes{Topic: m.Topic, Attributes: protobuf.Attributes(m.Attributes)}, nil
}

// setTopicTagsMessage is the log form of cmd.
func setTopicTagsMessage(cmd *queue.SetTopicTags) *fsmpb.SetTopicTags {
	return &fsmpb.SetTopicTags{
		Topic:  cmd.Topic,
		Set:    protobuf.TagValues(cmd.Set),
		Remove: cmd.Remove,
	}
}

// setTopicTagsCommand is the inverse of setTopicTagsMessage.
func setTopicTagsCommand(m *fsmpb.SetTopicTags) (*queue.SetTopicTags, error) {
	return &queue.SetTopicTags{
		Topic:  m.Topic,
		Set:    protobuf.Tags(m.Set),
		Remove: m.Remove,
	}, nil
}

// setTopicPolicyMessage is the log form of cmd.
func setTopicPolicyMessage(cmd *queue.SetTopicPolicy) *fsmpb.SetTopicPolicy {
	return &fsmpb.SetTopicPolicy{
		Topic:      cmd.Topic,
		Label:      cmd.Label,
		Remove:     cmd.Remove,
		AccountIds: cmd.AccountIDs,
		Actions:    cmd.Actions,
	}
}

// setTopicPolicyCommand is the inverse of setTopicPolicyMessage.
func setTopicPolicyCommand(m *fsmpb.SetTopicPolicy) (*queue.SetTopicPolicy, error) {
	return &queue.SetTopicPolicy{
		Topic:      m.Topic,
		Label:      m.Label,
		Remove:     m.Remove,
		AccountIDs: m.AccountIds,
		Actions:    m.Actions,
	}, nil
}

// subscribeMessage is the log form of cmd.
func subscribeMessage(cmd *queue.Subscribe) *fsmpb.Subscribe {
	return &fsmpb.Subscribe{
		Topic:      cmd.Topic,
		Queue:      cmd.Queue,
		Endpoint:   cmd.Endpoint,
		Owner:      cmd.Owner,
		Principal:  cmd.Principal,
		Attributes: protobuf.NameValues(cmd.Attributes),
		Protocol:   uint32(cmd.Protocol),
		Server:     cmd.Server,
	}
}

// subscribeCommand is the inverse of subscribeMessage.
func subscribeCommand(m *fsmpb.Subscribe) (*queue.Subscribe, error) {
	if m.Protocol > math.MaxUint8 {
		return nil, fmt.Errorf("%w: the protocol %d", format.ErrMalformed, m.Protocol)
	}
	return &queue.Subscribe{
		Protocol:   attributes.Protocol(m.Protocol),
		Server:     m.Server,
		Topic:      m.Topic,
		Queue:      m.Queue,
		Endpoint:   m.Endpoint,
		Owner:      m.Owner,
		Principal:  m.Principal,
		Attributes: protobuf.Attributes(m.Attributes),
	}, nil
}

// unsubscribeMessage is the log form of cmd.
func unsubscribeMessage(cmd *queue.Unsubscribe) *fsmpb.Unsubscribe {
	return &fsmpb.Unsubscribe{SubscriptionArn: cmd.SubscriptionARN, Signed: cmd.Signed}
}

// unsubscribeCommand is the inverse of unsubscribeMessage.
func unsubscribeCommand(m *fsmpb.Unsubscribe) (*queue.Unsubscribe, error) {
	return &queue.Unsubscribe{SubscriptionARN: m.SubscriptionArn, Signed: m.Signed}, nil
}

// setSubscriptionAttributesMessage is the log form of cmd.
func setSubscriptionAttributesMessage(cmd *queue.SetSubscriptionAttributes) *fsmpb.SetSubscriptionAttributes {
	return &fsmpb.SetSubscriptionAttributes{
		SubscriptionArn: cmd.SubscriptionARN,
		Attributes:      protobuf.NameValues(cmd.Attributes),
	}
}

// setSubscriptionAttributesCommand is the inverse of setSubscriptionAttributesMessage.
func setSubscriptionAttributesCommand(m *fsmpb.SetSubscriptionAttributes) (*queue.SetSubscriptionAttributes, error) {
	return &queue.SetSubscriptionAttributes{
		SubscriptionARN: m.SubscriptionArn,
		Attributes:      protobuf.Attributes(m.Attributes),
	}, nil
}

// publishMessage is the log form of cmd.
func publishMessage(cmd *queue.Publish) *fsmpb.Publish {
	m := &fsmpb.Publish{
		Topic:    cmd.Topic,
		SenderId: cmd.SenderID,
		Endpoint: cmd.Endpoint,
		Batch:    cmd.Batch,

		RepeatedSince: int64(cmd.RepeatedSince),
	}
	for i := range cmd.Entries {
		e := &cmd.Entries[i]
		m.Entries = append(m.Entries, &fsmpb.PublishEntry{
			Message:         e.Message,
			Subject:         givenText(e.Subject, e.SubjectGiven),
			Attributes:      protobuf.MessageAttributeValues(e.Attributes),
			GroupId:         givenText(e.GroupID, e.GroupIDGiven),
			DeduplicationId: givenText(e.DeduplicationID, e.DeduplicationIDGiven),
			ContentHash:     e.ContentHash,
			TraceHeader:     e.TraceHeader,
		})
	}
	return m
}

// publishCommand is the inverse of publishMessage.
func publishCommand(m *fsmpb.Publish) (*queue.Publish, error) {
	cmd := &queue.Publish{
		Topic: m.Topic, SenderID: m.SenderId, Endpoint: m.Endpoint, Batch: m.Batch, RepeatedSince: queue.Timestamp(m.RepeatedSince),
	}
	if len(m.Entries) == 0 {
		return cmd, nil
	}
	cmd.Entries = make([]queue.PublishEntry, len(m.Entries))
	for i, e := range m.Entries {
		entry := &cmd.Entries[i]
		entry.Message = e.Message
		entry.Subject, entry.SubjectGiven = text(e.Subject)
		entry.Attributes = protobuf.MessageAttributes(e.Attributes)
		entry.GroupID, entry.GroupIDGiven = text(e.GroupId)
		entry.DeduplicationID, entry.DeduplicationIDGiven = text(e.DeduplicationId)
		entry.TraceHeader = e.TraceHeader
		if err := checkContentHash(e.ContentHash); err != nil {
			return nil, err
		}
		if len(e.ContentHash) > 0 {
			entry.ContentHash = e.ContentHash
		}
	}
	return cmd, nil
}
