package snapshot

import (
	"fmt"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/fsm/protobuf"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/deduplication"
	"github.com/seriatimq/seriatim/queue/policy"
)

func queueMessage(r *queue.QueueRecord) *fsmpb.QueueRecord {
	return &fsmpb.QueueRecord{
		Name:          r.Name,
		Incarnation:   r.Incarnation,
		Attributes:    queueAttributesMessage(&r.Attributes),
		Tags:          protobuf.TagValues(r.Tags),
		CreatedAt:     int64(r.CreatedAt),
		ModifiedAt:    int64(r.ModifiedAt),
		PurgedAt:      int64(r.PurgedAt),
		ForgotAt:      int64(r.ForgotAt),
		LastSequence:  r.LastSequence,
		LastAttempt:   r.LastAttempt,
		LastLock:      r.LastLock,
		DeadBefore:    int64(r.DeadBefore),
		FiredAt:       int64(r.FiredAt),
		FiredSequence: r.FiredSequence,
	}
}

func queueRecord(m *fsmpb.QueueRecord) (queue.QueueRecord, error) {
	a, err := queueAttributes(m.Attributes)
	if err != nil {
		return queue.QueueRecord{}, fmt.Errorf("queue %s: %w", m.Name, err)
	}
	return queue.QueueRecord{
		Name:          m.Name,
		Incarnation:   m.Incarnation,
		Attributes:    a,
		Tags:          protobuf.Tags(m.Tags),
		CreatedAt:     queue.Timestamp(m.CreatedAt),
		ModifiedAt:    queue.Timestamp(m.ModifiedAt),
		PurgedAt:      queue.Timestamp(m.PurgedAt),
		ForgotAt:      queue.Timestamp(m.ForgotAt),
		LastSequence:  m.LastSequence,
		LastAttempt:   m.LastAttempt,
		LastLock:      m.LastLock,
		DeadBefore:    queue.Timestamp(m.DeadBefore),
		FiredAt:       queue.Timestamp(m.FiredAt),
		FiredSequence: m.FiredSequence,
	}, nil
}

func queueAttributesMessage(a *queue.QueueAttributes) *fsmpb.QueueAttributes {
	return &fsmpb.QueueAttributes{
		Fifo:               a.FIFO,
		DelaySeconds:       a.DelaySeconds,
		MaximumMessageSize: a.MaximumMessageSize,
		RetentionSeconds:   a.RetentionSeconds,
		ReceiveWaitSeconds: a.ReceiveWaitSeconds,
		VisibilitySeconds:  a.VisibilitySeconds,
		Policy:             a.Policy,
		Redrive:            protobuf.RedriveMessage(&a.Redrive),
		RedriveAllow:       protobuf.RedriveAllowMessage(&a.RedriveAllow),
		Encryption: &fsmpb.Encryption{
			KmsMasterKeyId:  a.Encryption.KMSMasterKeyID,
			KmsReuseSeconds: a.Encryption.KMSReuseSeconds,
			SqsManaged:      a.Encryption.SQSManaged,
		},
		Deduplication:           deduplicationMessage(&a.Deduplication),
		HighThroughput:          a.HighThroughput,
		GroupOptional:           a.GroupOptional,
		GroupMessagesMax:        a.GroupMessagesMax,
		AttemptSeconds:          a.AttemptSeconds,
		YmqReceive:              a.YMQReceive,
		ImplicitDeadLetterQueue: a.ImplicitDeadLetterQueue,
		ReservedAttributes:      a.ReservedAttributes,
		Profile:                 uint32(a.Profile),
		Extensions:              uint32(a.Extensions),
	}
}

func queueAttributes(m *fsmpb.QueueAttributes) (queue.QueueAttributes, error) {
	profile, err := narrow[attributes.Profile](m.GetProfile(), "profile")
	if err != nil {
		return queue.QueueAttributes{}, err
	}
	rules, err := deduplicationRules(m.GetDeduplication())
	if err != nil {
		return queue.QueueAttributes{}, err
	}
	var redrive policy.Redrive
	if p := protobuf.RedrivePolicy(m.GetRedrive()); p != nil {
		redrive = *p
	}
	var allow policy.RedriveAllow
	if p := protobuf.RedriveAllowPolicy(m.GetRedriveAllow()); p != nil {
		allow = *p
	}
	return queue.QueueAttributes{
		FIFO:               m.GetFifo(),
		DelaySeconds:       m.GetDelaySeconds(),
		MaximumMessageSize: m.GetMaximumMessageSize(),
		RetentionSeconds:   m.GetRetentionSeconds(),
		ReceiveWaitSeconds: m.GetReceiveWaitSeconds(),
		VisibilitySeconds:  m.GetVisibilitySeconds(),
		Policy:             m.GetPolicy(),
		Redrive:            redrive,
		RedriveAllow:       allow,
		Encryption: attributes.Encryption{
			KMSMasterKeyID:  m.GetEncryption().GetKmsMasterKeyId(),
			KMSReuseSeconds: m.GetEncryption().GetKmsReuseSeconds(),
			SQSManaged:      m.GetEncryption().GetSqsManaged(),
		},
		Deduplication:           rules,
		HighThroughput:          m.GetHighThroughput(),
		GroupOptional:           m.GetGroupOptional(),
		GroupMessagesMax:        m.GetGroupMessagesMax(),
		AttemptSeconds:          m.GetAttemptSeconds(),
		YMQReceive:              m.GetYmqReceive(),
		ImplicitDeadLetterQueue: m.GetImplicitDeadLetterQueue(),
		ReservedAttributes:      m.GetReservedAttributes(),
		Profile:                 profile,
		Extensions:              attributes.ExtensionSet(m.GetExtensions()),
	}, nil
}

func deduplicationMessage(r *deduplication.Rules) *fsmpb.DeduplicationRules {
	return &fsmpb.DeduplicationRules{
		Disabled:          r.Disabled,
		ContentBased:      r.ContentBased,
		IdAndContent:      r.IDAndContent,
		Scope:             uint32(r.Scope),
		WindowSeconds:     r.WindowSeconds,
		EntriesMax:        r.EntriesMax,
		PurgeKeepsHistory: r.PurgeKeepsHistory,
		DeadLetterKeepsId: r.DeadLetterKeepsID,
	}
}

func deduplicationRules(m *fsmpb.DeduplicationRules) (deduplication.Rules, error) {
	scope, err := narrow[deduplication.Scope](m.GetScope(), "deduplication scope")
	return deduplication.Rules{
		Disabled:          m.GetDisabled(),
		ContentBased:      m.GetContentBased(),
		IDAndContent:      m.GetIdAndContent(),
		Scope:             scope,
		WindowSeconds:     m.GetWindowSeconds(),
		EntriesMax:        m.GetEntriesMax(),
		PurgeKeepsHistory: m.GetPurgeKeepsHistory(),
		DeadLetterKeepsID: m.GetDeadLetterKeepsId(),
	}, err
}

// narrow refuses numbers that would be cut off.
func narrow[T ~uint8](value uint32, what string) (T, error) {
	if value > 0xff {
		return 0, fmt.Errorf("%w: a %s of %d", format.ErrMalformed, what, value)
	}
	return T(value), nil
}
