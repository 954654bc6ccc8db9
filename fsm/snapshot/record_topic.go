package snapshot

import (
	"fmt"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/fsm/protobuf"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/filter"
	"github.com/seriatimq/seriatim/queue/notification"
	"github.com/seriatimq/seriatim/queue/policy"
)

func topicMessage(r *queue.TopicRecord) *fsmpb.TopicRecord {
	a := &r.Attributes
	return &fsmpb.TopicRecord{
		Name:        r.Name,
		Arn:         r.ARN,
		Incarnation: r.Incarnation,
		Attributes: &fsmpb.TopicAttributes{
			Fifo:             a.FIFO,
			DisplayName:      a.DisplayName,
			Policy:           a.Policy,
			DeliveryPolicy:   a.DeliveryPolicy,
			KmsMasterKeyId:   a.KMSMasterKeyID,
			SignatureVersion: uint32(a.SignatureVersion),
			Tracing:          uint32(a.Tracing),
			Deduplication:    deduplicationMessage(&a.Deduplication),
			Archive:          &fsmpb.ArchivePolicy{Text: a.Archive.Text, Days: a.Archive.Days},
			Extensions:       uint32(a.Extensions),
			DataProtection:   a.DataProtection,
			Feedback:         feedbackMessages(a),
		},
		Tags:         protobuf.TagValues(r.Tags),
		CreatedAt:    int64(r.CreatedAt),
		ModifiedAt:   int64(r.ModifiedAt),
		LastSequence: r.LastSequence,
		Unsubscribed: r.Unsubscribed,
		DeadBefore:   int64(r.DeadBefore),

		ArchivedSince: int64(r.ArchivedSince),
	}
}

func topicRecord(m *fsmpb.TopicRecord) (queue.TopicRecord, error) {
	a, err := topicAttributes(m.Attributes)
	if err != nil {
		return queue.TopicRecord{}, fmt.Errorf("topic %s: %w", m.Name, err)
	}
	return queue.TopicRecord{
		Name:         m.Name,
		ARN:          m.Arn,
		Incarnation:  m.Incarnation,
		Attributes:   a,
		Tags:         protobuf.Tags(m.Tags),
		CreatedAt:    queue.Timestamp(m.CreatedAt),
		ModifiedAt:   queue.Timestamp(m.ModifiedAt),
		LastSequence: m.LastSequence,
		Unsubscribed: m.Unsubscribed,
		DeadBefore:   queue.Timestamp(m.DeadBefore),

		ArchivedSince: queue.Timestamp(m.ArchivedSince),
	}, nil
}

func topicAttributes(m *fsmpb.TopicAttributes) (queue.TopicAttributes, error) {
	signature, err := narrow[attributes.SignatureVersion](m.GetSignatureVersion(), "signature version")
	if err != nil {
		return queue.TopicAttributes{}, err
	}
	tracing, err := narrow[attributes.Tracing](m.GetTracing(), "tracing mode")
	if err != nil {
		return queue.TopicAttributes{}, err
	}
	rules, err := deduplicationRules(m.GetDeduplication())
	if err != nil {
		return queue.TopicAttributes{}, err
	}
	a := queue.TopicAttributes{
		FIFO:             m.GetFifo(),
		DisplayName:      m.GetDisplayName(),
		Policy:           m.GetPolicy(),
		DeliveryPolicy:   m.GetDeliveryPolicy(),
		KMSMasterKeyID:   m.GetKmsMasterKeyId(),
		SignatureVersion: signature,
		Tracing:          tracing,
		Deduplication:    rules,
		Archive:          policy.Archive{Text: m.GetArchive().GetText(), Days: m.GetArchive().GetDays()},
		Extensions:       attributes.ExtensionSet(m.GetExtensions()),
		DataProtection:   m.GetDataProtection(),
	}
	if len(m.GetFeedback()) > len(a.Feedback) {
		return queue.TopicAttributes{}, fmt.Errorf("%w: feedback of %d protocols", format.ErrMalformed, len(m.GetFeedback()))
	}
	for i, f := range m.GetFeedback() {
		a.Feedback[i] = attributes.Feedback{SuccessRole: f.GetSuccessRole(), FailureRole: f.GetFailureRole(), SampleRate: f.GetSampleRate()}
	}
	return a, nil
}

// feedbackMessages has no message if nothing is set, as is usual.
func feedbackMessages(a *queue.TopicAttributes) []*fsmpb.DeliveryFeedback {
	if a.Feedback == (queue.TopicAttributes{}).Feedback {
		return nil
	}
	list := make([]*fsmpb.DeliveryFeedback, len(a.Feedback))
	for i, f := range a.Feedback {
		list[i] = &fsmpb.DeliveryFeedback{SuccessRole: f.SuccessRole, FailureRole: f.FailureRole, SampleRate: f.SampleRate}
	}
	return list
}

func subscriptionMessage(r *queue.SubscriptionRecord) *fsmpb.SubscriptionRecord {
	return &fsmpb.SubscriptionRecord{
		Number:       r.Number,
		Id:           protobuf.IDBytes(&r.ID),
		Endpoint:     r.Endpoint,
		QueueOwner:   r.QueueOwner,
		Owner:        r.Owner,
		Principal:    r.Principal,
		RawDelivery:  r.RawDelivery,
		FilterPolicy: r.FilterPolicy,
		FilterScope:  uint32(r.FilterScope),
		DeadLetter:   &fsmpb.DeadLetterPolicy{Text: r.DeadLetter.Text, Target: r.DeadLetter.Target},
		Replay: &fsmpb.ReplayPolicy{
			Text: r.Replay.Text, Start: int64(r.Replay.Start), End: int64(r.Replay.End), Ends: r.Replay.Ends,
		},
		ReplayStatus: uint32(r.ReplayStatus),
		ReplayNext:   r.ReplayNext,

		Protocol:                uint32(r.Protocol),
		DeliveryPolicy:          r.DeliveryPolicy,
		ConfirmationRequestedAt: int64(r.Confirmation.RequestedAt),
		Server:                  r.Confirmation.Server,
		ConfirmationSigned:      r.Confirmation.Signed,
		SignedUnsubscribe:       r.Confirmation.Unsubscribe,
	}
}

func subscriptionRecord(m *fsmpb.SubscriptionRecord) (queue.SubscriptionRecord, error) {
	scope, err := narrow[filter.Scope](m.FilterScope, "filter scope")
	if err != nil {
		return queue.SubscriptionRecord{}, err
	}
	status, err := narrow[attributes.ReplayStatus](m.ReplayStatus, "replay status")
	if err != nil {
		return queue.SubscriptionRecord{}, err
	}
	protocol, err := narrow[attributes.Protocol](m.Protocol, "protocol")
	if err != nil {
		return queue.SubscriptionRecord{}, err
	}
	r := queue.SubscriptionRecord{
		Protocol: protocol, DeliveryPolicy: m.DeliveryPolicy,
		Confirmation: queue.Confirmation{
			RequestedAt: queue.Timestamp(m.ConfirmationRequestedAt), Server: m.Server,
			Signed: m.ConfirmationSigned, Unsubscribe: m.SignedUnsubscribe,
		},
		Number:       m.Number,
		Endpoint:     m.Endpoint,
		QueueOwner:   m.QueueOwner,
		Owner:        m.Owner,
		Principal:    m.Principal,
		RawDelivery:  m.RawDelivery,
		FilterPolicy: m.FilterPolicy,
		FilterScope:  scope,
		DeadLetter:   policy.DeadLetter{Text: m.DeadLetter.GetText(), Target: m.DeadLetter.GetTarget()},
		Replay: policy.Replay{
			Text: m.Replay.GetText(), Start: queue.Timestamp(m.Replay.GetStart()),
			End: queue.Timestamp(m.Replay.GetEnd()), Ends: m.Replay.GetEnds(),
		},
		ReplayStatus: status,
		ReplayNext:   m.ReplayNext,
	}
	return r, protobuf.Fill(r.ID[:], m.Id, "subscription id")
}

func publishedMessage(r *queue.PublishedRecord) *fsmpb.PublishedMessage {
	if r.PublicationID == (queue.MessageID{}) {
		return nil
	}
	m := &fsmpb.PublishedMessage{PublicationId: protobuf.IDBytes(&r.PublicationID), SubscriptionArn: r.SubscriptionARN, Raw: r.Raw, Replayed: r.Replayed}
	m.Publication = publicationMessage(r.Content)
	return m
}

// publicationMessage is nil for nil.
func publicationMessage(n *notification.Notification) *fsmpb.Publication {
	if n == nil {
		return nil
	}
	return &fsmpb.Publication{
		TopicArn:        n.TopicARN,
		Sequence:        uint64(n.SequenceNumber),
		Subject:         n.Subject,
		Message:         n.Message.String(),
		Timestamp:       int64(n.Timestamp),
		Attributes:      protobuf.MessageAttributeValues(n.Attributes),
		SenderId:        n.SenderID,
		Endpoint:        n.Endpoint,
		GroupId:         n.GroupID,
		DeduplicationId: n.DeduplicationID,
		TraceHeader:     n.TraceHeader,
	}
}

func publishedRecord(m *fsmpb.PublishedMessage) (queue.PublishedRecord, error) {
	if m == nil {
		return queue.PublishedRecord{}, nil
	}
	r := queue.PublishedRecord{SubscriptionARN: m.SubscriptionArn, Raw: m.Raw, Replayed: m.Replayed}
	if err := protobuf.Fill(r.PublicationID[:], m.PublicationId, "publication id"); err != nil {
		return queue.PublishedRecord{}, err
	}
	r.Content = publication(r.PublicationID, m.Publication)
	return r, nil
}

// publication is the inverse of publicationMessage.
func publication(id queue.MessageID, p *fsmpb.Publication) *notification.Notification {
	if p == nil {
		return nil
	}
	return &notification.Notification{
		TopicARN:        p.TopicArn,
		MessageID:       id,
		SequenceNumber:  queue.SequenceNumber(p.Sequence),
		Subject:         p.Subject,
		Message:         content.NewBody(p.Message),
		Timestamp:       queue.Timestamp(p.Timestamp),
		Attributes:      protobuf.MessageAttributes(p.Attributes),
		SenderID:        p.SenderId,
		Endpoint:        p.Endpoint,
		GroupID:         p.GroupId,
		DeduplicationID: p.DeduplicationId,
		TraceHeader:     p.TraceHeader,
	}
}

func archivedMessage(r *queue.ArchivedRecord) *fsmpb.ArchivedRecord {
	return &fsmpb.ArchivedRecord{PublicationId: protobuf.IDBytes(&r.PublicationID), Publication: publicationMessage(r.Content)}
}

func archivedRecord(m *fsmpb.ArchivedRecord) (queue.ArchivedRecord, error) {
	var r queue.ArchivedRecord
	if err := protobuf.Fill(r.PublicationID[:], m.PublicationId, "publication id"); err != nil {
		return r, err
	}
	r.Content = publication(r.PublicationID, m.Publication)
	return r, nil
}
