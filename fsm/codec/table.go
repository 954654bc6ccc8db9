package codec

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/wire"
	"github.com/seriatimq/seriatim/queue"
)

// codec is one row of the command table.
type codec struct {
	number  uint8
	version uint8
	minimum uint32 // format version
	name    string
	traits  traits
	command reflect.Type // a pointer type of package queue or access
	append  func(dst []byte, cmd queue.Command) []byte
	// decode decodes a command. With a nil Decoder, the command stays valid and shares no memory
	// with body.
	decode func(d *Decoder, body []byte) (queue.Command, error)
	check  func(cmd queue.Command) error // refuses invalid commands; nil: accepts all
}

// sendMessagesNumber is the number of SendMessages, see SendsTo.
const sendMessagesNumber = 20

// Numbers and versions are part of the disk format: they are never changed or reused. If the
// meaning of a command changes, it gets a new version, which package queue can tell from the old
// one.
var codecs = [...]codec{
	line(1, 1, 0, "AdvanceClock", traits{addsNone, never, repeatable, nothing}, wire.AdvanceClockCodec),
	line(2, 1, 0, "SetFormatVersion", traits{addsNone, never, onceOnly, nothing}, wire.SetFormatVersionCodec),
	line(3, 1, 0, "SetClusterSetting", traits{addsNone, never, onceOnly, nothing}, wire.SetClusterSettingCodec),
	line(4, 1, 1, "Audit", traits{addsNone, never, onceOnly, nothing}, wire.AuditCodec),
	line(10, 1, 1, "CreateQueue", traits{addsNone, never, onceOnly, createQueueNeeds}, wire.CreateQueueCodec),
	line(11, 1, 1, "DeleteQueue", traits{addsNone, never, onceOnly, nothing}, wire.DeleteQueueCodec),
	line(12, 1, 1, "SetQueueAttributes", traits{addsNone, never, onceOnly, setQueueNeeds}, wire.SetQueueAttributesCodec),
	line(13, 1, 1, "SetQueueTags", traits{addsNone, never, onceOnly, nothing}, wire.SetQueueTagsCodec),
	line(14, 1, 1, "SetQueuePolicy", traits{addsNone, never, onceOnly, nothing}, wire.SetQueuePolicyCodec),
	line(15, 1, 1, "PurgeQueue", traits{addsNone, never, onceOnly, nothing}, wire.PurgeQueueCodec),
	line(16, 1, 1, "ReleaseGroup", traits{addsNone, never, onceOnly, nothing}, wire.ReleaseGroupCodec),
	line(17, 1, 1, "NoteUse", traits{addsNone, noteWaits, repeatable, nothing}, wire.NoteUseCodec),
	pooled(checked(line(sendMessagesNumber, 1, 1, "SendMessages", traits{adds, never, sentAgain, nothing}, wire.SendMessagesCodec),
		checkSend),
		(*Decoder).send),
	pooled(line(21, 1, 1, "ReceiveMessages", traits{addsNone, receiveWaits, withAttempt, nothing}, wire.ReceiveMessagesCodec),
		(*Decoder).receive),
	pooled(line(22, 1, 1, "DeleteMessages", traits{addsNone, never, repeatable, nothing}, wire.DeleteMessagesCodec), (*Decoder).delete),
	line(23, 1, 1, "ChangeMessageVisibility", traits{addsNone, never, repeatable, nothing}, wire.ChangeMessageVisibilityCodec),
	line(24, 1, 1, "CancelScheduled", traits{addsNone, never, repeatable, nothing}, wire.CancelScheduledCodec),
	line(25, 1, 1, "Defer", traits{addsNone, never, repeatable, nothing}, wire.DeferCodec),
	line(26, 1, 1, "ReceiveDeferred", traits{addsNone, never, onceOnly, nothing}, wire.ReceiveDeferredCodec),
	line(27, 1, 1, "DeadLetter", traits{addsNone, never, repeatable, nothing}, wire.DeadLetterCodec),
	line(28, 1, 1, "ForgetDeduplication", traits{addsNone, never, onceOnly, nothing}, wire.ForgetDeduplicationCodec),
	line(29, 1, 1, "DeleteStored", traits{addsNone, never, repeatable, nothing}, wire.DeleteStoredCodec),
	line(30, 1, 1, "StartMoveTask", traits{addsNone, never, onceOnly, nothing}, wire.StartMoveTaskCodec),
	line(31, 1, 1, "CancelMoveTask", traits{addsNone, never, onceOnly, nothing}, wire.CancelMoveTaskCodec),
	line(32, 1, 1, "MoveMessages", traits{addsNone, never, onceOnly, nothing}, wire.MoveMessagesCodec),
	line(33, 1, 1, "ReplayMessages", traits{adds, never, onceOnly, nothing}, wire.ReplayMessagesCodec),
	line(34, 1, 1, "ReportDeliveries", traits{addsNone, never, onceOnly, nothing}, wire.ReportDeliveriesCodec),
	line(35, 1, 1, "MoveStored", traits{addsNone, never, onceOnly, nothing}, wire.MoveStoredCodec),
	line(40, 1, 1, "CreateTopic", traits{addsNone, never, onceOnly, createTopicNeeds}, wire.CreateTopicCodec),
	line(41, 1, 1, "DeleteTopic", traits{addsNone, never, onceOnly, nothing}, wire.DeleteTopicCodec),
	line(42, 1, 1, "SetTopicAttributes", traits{addsNone, never, onceOnly, setTopicNeeds}, wire.SetTopicAttributesCodec),
	line(43, 1, 1, "SetTopicTags", traits{addsNone, never, onceOnly, nothing}, wire.SetTopicTagsCodec),
	line(44, 1, 1, "SetTopicPolicy", traits{addsNone, never, onceOnly, nothing}, wire.SetTopicPolicyCodec),
	line(45, 1, 1, "Subscribe", traits{addsNone, never, onceOnly, subscribeNeeds}, wire.SubscribeCodec),
	line(46, 1, 1, "Unsubscribe", traits{addsNone, never, onceOnly, nothing}, wire.UnsubscribeCodec),
	line(47, 1, 1, "SetSubscriptionAttributes", traits{addsNone, never, onceOnly, setSubscriptionNeeds},
		wire.SetSubscriptionAttributesCodec),
	checked(line(48, 1, 1, "Publish", traits{adds, never, publishedAgain, nothing}, wire.PublishCodec), checkPublish),
	line(49, 1, 1, "ConfirmSubscription", traits{addsNone, never, onceOnly, nothing}, wire.ConfirmSubscriptionCodec),
	line(50, 1, 1, "AcceptSession", traits{addsNone, acceptWaits, acceptedAgain, nothing}, wire.AcceptSessionCodec),
	line(51, 1, 1, "RenewSession", traits{addsNone, never, repeatable, nothing}, wire.RenewSessionCodec),
	line(52, 1, 1, "ReleaseSession", traits{addsNone, never, repeatable, nothing}, wire.ReleaseSessionCodec),
	line(53, 1, 1, "SetSessionState", traits{setsState, never, repeatable, nothing}, wire.SetSessionStateCodec),
	line(54, 1, 1, "PutRule", traits{adds, never, onceOnly, nothing}, wire.PutRuleCodec),
	line(55, 1, 1, "RemoveRule", traits{addsNone, never, onceOnly, nothing}, wire.RemoveRuleCodec),
	checked(line(56, 1, 1, "CommitTransaction", traits{addsSome, never, onceOnly, nothing}, wire.CommitTransactionCodec), checkTransaction),
	line(60, 1, 1, "CreateAccessKey", traits{addsNone, never, onceOnly, nothing}, wire.CreateAccessKeyCodec),
	line(61, 1, 1, "DeleteAccessKey", traits{addsNone, never, onceOnly, nothing}, wire.DeleteAccessKeyCodec),
	line(62, 1, 1, "UpdateAccessKey", traits{addsNone, never, onceOnly, nothing}, wire.UpdateAccessKeyCodec),
	line(63, 1, 1, "PutUserPolicy", traits{addsNone, never, onceOnly, userPolicyNeeds}, wire.PutUserPolicyCodec),
	line(64, 1, 1, "CreateAccount", traits{addsNone, never, onceOnly, nothing}, wire.CreateAccountCodec),
	line(65, 1, 1, "SetAccountQuota", traits{addsNone, never, onceOnly, nothing}, wire.SetAccountQuotaCodec),
	line(66, 1, 1, "DeleteAccount", traits{addsNone, never, onceOnly, nothing}, wire.DeleteAccountCodec),
	line(67, 1, 1, "SetSealingKey", traits{addsNone, never, repeatable, nothing}, wire.SetSealingKeyCodec),
}

// line makes a row of the table.
func line[C any, P interface {
	*C
	queue.Command
}](number, version uint8, minimum uint32, name string, is traits, of wire.Codec[C]) codec {
	return codec{
		number:  number,
		version: version,
		minimum: minimum,
		name:    name,
		traits:  is.complete(name),
		command: reflect.TypeFor[P](),
		append: func(dst []byte, cmd queue.Command) []byte {
			c := (*C)(cmd.(P))
			return of.Append(slices.Grow(dst, of.Size(c)), c)
		},
		decode: func(_ *Decoder, body []byte) (queue.Command, error) {
			cmd := new(C)
			return P(cmd), of.Read(wire.NewReader(body), cmd)
		},
	}
}

// pooled makes a Decoder decode the command of a row into reused memory.
func pooled(c codec, read func(d *Decoder, body []byte) (queue.Command, error)) codec {
	alone := c.decode
	c.decode = func(d *Decoder, body []byte) (queue.Command, error) {
		if d == nil {
			return alone(nil, body)
		}
		return read(d, body)
	}
	return c
}

// checked makes a row refuse commands that would end the nodes that apply them, or make their
// states differ.
func checked[P queue.Command](c codec, check func(P) error) codec {
	c.check = func(cmd queue.Command) error { return check(cmd.(P)) }
	return c
}

// codecByNumber returns the row for a number and version in the log.
func codecByNumber(number, version uint8) (*codec, error) {
	if c := codecByNumberAlone[number]; c != nil && c.version == version {
		return c, nil
	}
	return nil, fmt.Errorf("%w: number %d version %d", format.ErrUnknownCommand, number, version)
}

// codecByNumberAlone holds the rows by number. It assumes that each number has one version.
var codecByNumberAlone = func() (lines [256]*codec) {
	for i := range codecs {
		lines[codecs[i].number] = &codecs[i]
	}
	return lines
}()

// codecByType holds the rows by the type of the command.
var codecByType = func() map[reflect.Type]*codec {
	lines := make(map[reflect.Type]*codec, len(codecs))
	for i := range codecs {
		lines[codecs[i].command] = &codecs[i]
	}
	return lines
}()

func codecOf(cmd queue.Command) (*codec, error) {
	c, known := codecByType[reflect.TypeOf(cmd)]
	if !known {
		return nil, fmt.Errorf("%w: %T has no number", format.ErrUnknownCommand, cmd)
	}
	return c, nil
}

// CommandNumber returns the number of cmd in the log, zero if it has none.
func CommandNumber(cmd queue.Command) uint8 {
	c, err := codecOf(cmd)
	if err != nil {
		return 0
	}
	return c.number
}

// CommandName returns the name of the command in a frame, for listing a log.
func CommandName(frame []byte) (string, error) {
	c, _, err := parseFrame(frame)
	if err != nil {
		return "", fmt.Errorf("naming a command: %w", err)
	}
	return c.name, nil
}
