package codec

import (
	"fmt"
	"reflect"

	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/protobuf"
	"github.com/seriatimq/seriatim/queue"
)

// codec is one line of the command table.
type codec struct {
	number  uint8
	version uint8
	minimum uint32 // format version
	name    string
	traits
	command reflect.Type // a pointer type of package queue
	encode  func(queue.Command) proto.Message
	// decode has a nil Decoder if the command is to last and to hold no part of body.
	decode func(d *Decoder, body []byte) (queue.Command, error)
	// append does what encode and the protobuf library do together; nil for
	// commands that are not encoded by hand. What decode refuses must not be
	// encoded, either.
	append func(dst []byte, cmd queue.Command) ([]byte, error)
}

// sendMessagesNumber is that of SendMessages, see SendsTo.
const sendMessagesNumber = 20

// Numbers and versions are part of the disk format: never changed, never
// reused. A changed meaning of a command is a new version of its number, to
// be decoded into something queue can tell apart.
var codecs = [...]codec{
	line(1, 1, 0, "AdvanceClock", traits{addsNone, never, repeatable, nothing}, advanceClockMessage, advanceClockCommand),
	line(2, 1, 0, "SetFormatVersion", traits{addsNone, never, onceOnly, nothing}, setFormatVersionMessage, setFormatVersionCommand),
	line(3, 1, 0, "SetClusterSetting", traits{addsNone, never, onceOnly, nothing}, setClusterSettingMessage, setClusterSettingCommand),
	line(4, 1, 1, "Audit", traits{addsNone, never, onceOnly, nothing}, auditMessage, auditCommand),
	line(10, 1, 1, "CreateQueue", traits{addsNone, never, onceOnly, createQueueNeeds}, createQueueMessage, createQueueCommand),
	line(11, 1, 1, "DeleteQueue", traits{addsNone, never, onceOnly, nothing}, deleteQueueMessage, deleteQueueCommand),
	line(12, 1, 1, "SetQueueAttributes", traits{addsNone, never, onceOnly, setQueueNeeds}, setQueueAttributesMessage, setQueueAttributesCommand),
	line(13, 1, 1, "SetQueueTags", traits{addsNone, never, onceOnly, nothing}, setQueueTagsMessage, setQueueTagsCommand),
	line(14, 1, 1, "SetQueuePolicy", traits{addsNone, never, onceOnly, nothing}, setQueuePolicyMessage, setQueuePolicyCommand),
	line(15, 1, 1, "PurgeQueue", traits{addsNone, never, onceOnly, nothing}, purgeQueueMessage, purgeQueueCommand),
	line(16, 1, 1, "ReleaseGroup", traits{addsNone, never, onceOnly, nothing}, releaseGroupMessage, releaseGroupCommand),
	manual(line(sendMessagesNumber, 1, 1, "SendMessages", traits{adds, never, sentAgain, nothing}, sendMessagesMessage, sendMessagesCommand), appendSendMessages, parseSendMessages),
	manual(line(21, 1, 1, "ReceiveMessages", traits{addsNone, receiveWaits, withAttempt, nothing}, receiveMessagesMessage, receiveMessagesCommand), appendReceiveMessages, parseReceiveMessages),
	manual(line(22, 1, 1, "DeleteMessages", traits{addsNone, never, repeatable, nothing}, deleteMessagesMessage, deleteMessagesCommand), appendDeleteMessages, parseDeleteMessages),
	line(23, 1, 1, "ChangeMessageVisibility", traits{addsNone, never, repeatable, nothing}, changeVisibilityMessage, changeVisibilityCommand),
	line(24, 1, 1, "CancelScheduled", traits{addsNone, never, repeatable, nothing}, cancelScheduledMessage, cancelScheduledCommand),
	line(25, 1, 1, "Defer", traits{addsNone, never, repeatable, nothing}, deferMessage, deferCommand),
	line(26, 1, 1, "ReceiveDeferred", traits{addsNone, never, onceOnly, nothing}, receiveDeferredMessage, receiveDeferredCommand),
	line(27, 1, 1, "DeadLetter", traits{addsNone, never, repeatable, nothing}, deadLetterMessage, deadLetterCommand),
	line(28, 1, 1, "ForgetDeduplication", traits{addsNone, never, onceOnly, nothing}, forgetDeduplicationMessage, forgetDeduplicationCommand),
	line(30, 1, 1, "StartMoveTask", traits{addsNone, never, onceOnly, nothing}, startMoveTaskMessage, startMoveTaskCommand),
	line(31, 1, 1, "CancelMoveTask", traits{addsNone, never, onceOnly, nothing}, cancelMoveTaskMessage, cancelMoveTaskCommand),
	line(32, 1, 1, "MoveMessages", traits{addsNone, never, onceOnly, nothing}, moveMessagesMessage, moveMessagesCommand),
	line(33, 1, 1, "ReplayMessages", traits{adds, never, onceOnly, nothing}, replayMessagesMessage, replayMessagesCommand),
	line(34, 1, 1, "ReportDeliveries", traits{addsNone, never, onceOnly, nothing}, reportDeliveriesMessage, reportDeliveriesCommand),
	line(40, 1, 1, "CreateTopic", traits{addsNone, never, onceOnly, createTopicNeeds}, createTopicMessage, createTopicCommand),
	line(41, 1, 1, "DeleteTopic", traits{addsNone, never, onceOnly, nothing}, deleteTopicMessage, deleteTopicCommand),
	line(42, 1, 1, "SetTopicAttributes", traits{addsNone, never, onceOnly, setTopicNeeds}, setTopicAttributesMessage, setTopicAttributesCommand),
	line(43, 1, 1, "SetTopicTags", traits{addsNone, never, onceOnly, nothing}, setTopicTagsMessage, setTopicTagsCommand),
	line(44, 1, 1, "SetTopicPolicy", traits{addsNone, never, onceOnly, nothing}, setTopicPolicyMessage, setTopicPolicyCommand),
	line(45, 1, 1, "Subscribe", traits{addsNone, never, onceOnly, subscribeNeeds}, subscribeMessage, subscribeCommand),
	line(46, 1, 1, "Unsubscribe", traits{addsNone, never, onceOnly, nothing}, unsubscribeMessage, unsubscribeCommand),
	line(47, 1, 1, "SetSubscriptionAttributes", traits{addsNone, never, onceOnly, setSubscriptionNeeds}, setSubscriptionAttributesMessage, setSubscriptionAttributesCommand),
	line(48, 1, 1, "Publish", traits{adds, never, publishedAgain, nothing}, publishMessage, publishCommand),
	line(49, 1, 1, "ConfirmSubscription", traits{addsNone, never, onceOnly, nothing}, confirmSubscriptionMessage, confirmSubscriptionCommand),
	line(50, 1, 1, "AcceptSession", traits{addsNone, acceptWaits, acceptedAgain, nothing}, acceptSessionMessage, acceptSessionCommand),
	line(51, 1, 1, "RenewSession", traits{addsNone, never, repeatable, nothing}, renewSessionMessage, renewSessionCommand),
	line(52, 1, 1, "ReleaseSession", traits{addsNone, never, repeatable, nothing}, releaseSessionMessage, releaseSessionCommand),
	line(53, 1, 1, "SetSessionState", traits{setsState, never, repeatable, nothing}, setSessionStateMessage, setSessionStateCommand),
	line(60, 1, 1, "CreateAccessKey", traits{addsNone, never, onceOnly, nothing}, createAccessKeyMessage, createAccessKeyCommand),
	line(61, 1, 1, "DeleteAccessKey", traits{addsNone, never, onceOnly, nothing}, deleteAccessKeyMessage, deleteAccessKeyCommand),
	line(62, 1, 1, "UpdateAccessKey", traits{addsNone, never, onceOnly, nothing}, updateAccessKeyMessage, updateAccessKeyCommand),
	line(63, 1, 1, "PutUserPolicy", traits{addsNone, never, onceOnly, userPolicyNeeds}, putUserPolicyMessage, putUserPolicyCommand),
	line(64, 1, 1, "CreateAccount", traits{addsNone, never, onceOnly, nothing}, createAccountMessage, createAccountCommand),
	line(65, 1, 1, "SetAccountQuota", traits{addsNone, never, onceOnly, nothing}, setAccountQuotaMessage, setAccountQuotaCommand),
	line(66, 1, 1, "DeleteAccount", traits{addsNone, never, onceOnly, nothing}, deleteAccountMessage, deleteAccountCommand),
	line(67, 1, 1, "SetSealingKey", traits{addsNone, never, repeatable, nothing}, setSealingKeyMessage, setSealingKeyCommand),
	line(68, 1, 1, "SealAccessKey", traits{addsNone, never, repeatable, nothing}, sealAccessKeyMessage, sealAccessKeyCommand),
}

// line makes a table line from the two conversions of a command.
func line[C any, M any, PC interface {
	*C
	queue.Command
}, PM interface {
	*M
	proto.Message
}](number, version uint8, minimum uint32, name string, is traits, toMessage func(PC) PM, toCommand func(PM) (PC, error)) codec {
	return codec{
		number:  number,
		version: version,
		minimum: minimum,
		name:    name,
		traits:  is.complete(name),
		command: reflect.TypeFor[PC](),
		encode:  func(cmd queue.Command) proto.Message { return toMessage(cmd.(PC)) },
		decode: func(_ *Decoder, body []byte) (queue.Command, error) {
			message := PM(new(M))
			if err := protobuf.Unmarshal(body, message); err != nil {
				return nil, err
			}
			cmd, err := toCommand(message)
			if err != nil {
				return nil, err
			}
			return cmd, nil
		},
	}
}

// manual replaces what the protobuf library does in a line, see wire.go.
func manual[C any, PC interface {
	*C
	queue.Command
}](c codec, appendBody func([]byte, PC) ([]byte, error), parse func(*Decoder, []byte) (PC, error)) codec {
	c.append = func(dst []byte, cmd queue.Command) ([]byte, error) { return appendBody(dst, cmd.(PC)) }
	c.decode = func(d *Decoder, body []byte) (queue.Command, error) {
		cmd, err := parse(d, body)
		if err != nil {
			return nil, err
		}
		return cmd, nil
	}
	return c
}

// codecByNumber finds the line of a number and version read from the log.
func codecByNumber(number, version uint8) (*codec, error) {
	if c := codecByNumberAlone[number]; c != nil && c.version == version {
		return c, nil
	}
	return nil, fmt.Errorf("%w: number %d version %d", format.ErrUnknownCommand, number, version)
}

// codecByNumberAlone finds the line of a number; made once, never changed. A number with
// more than one version needs more than this.
var codecByNumberAlone = func() (lines [256]*codec) {
	for i := range codecs {
		lines[codecs[i].number] = &codecs[i]
	}
	return lines
}()

// codecByType finds the line of the command types; made once, never changed.
var codecByType = func() map[reflect.Type]*codec {
	lines := make(map[reflect.Type]*codec, len(codecs))
	for i := range codecs {
		lines[codecs[i].command] = &codecs[i]
	}
	return lines
}()

// codecOf finds the line a command is written with.
func codecOf(cmd queue.Command) (*codec, error) {
	c, known := codecByType[reflect.TypeOf(cmd)]
	if !known {
		return nil, fmt.Errorf("%w: %T has no number", format.ErrUnknownCommand, cmd)
	}
	return c, nil
}

// CommandNumber is the number of cmd in the log, zero if it has none.
func CommandNumber(cmd queue.Command) uint8 {
	c, err := codecOf(cmd)
	if err != nil {
		return 0
	}
	return c.number
}

// CommandName is the name of the command in a frame, for listing a log.
func CommandName(frame []byte) (string, error) {
	c, _, err := parseFrame(frame)
	if err != nil {
		return "", fmt.Errorf("naming a command: %w", err)
	}
	return c.name, nil
}

// given is nil for an absent integer.
func given(i queue.Int) *int64 {
	if !i.Given {
		return nil
	}
	return &i.Value
}

// integer is the inverse of given.
func integer(value *int64) queue.Int {
	if value == nil {
		return queue.Int{}
	}
	return queue.Some(*value)
}

// givenText is nil for absent text; absent and empty differ in some members.
func givenText(text string, isGiven bool) *string {
	if !isGiven {
		return nil
	}
	return &text
}

// text is the inverse of givenText.
func text(value *string) (string, bool) {
	if value == nil {
		return "", false
	}
	return *value, true
}
