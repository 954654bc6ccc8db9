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
	command reflect.Type // a pointer type of package queue
	encode  func(queue.Command) proto.Message
	// decode has a nil Decoder if the command is to last and to hold no part of body.
	decode func(d *Decoder, body []byte) (queue.Command, error)
	// append does what encode and the protobuf library do together; nil for
	// commands that are not encoded by hand. What decode refuses must not be
	// encoded, either.
	append func(dst []byte, cmd queue.Command) ([]byte, error)
}

// Numbers of the commands that add messages.
const (
	sendMessagesNumber    = 20
	replayMessagesNumber  = 33
	publishNumber         = 48
	setSessionStateNumber = 53
)

// Numbers and versions are part of the disk format: never changed, never
// reused. A changed meaning of a command is a new version of its number, to
// be decoded into something queue can tell apart.
var codecs = [...]codec{
	line(1, 1, 0, "AdvanceClock", advanceClockMessage, advanceClockCommand),
	line(2, 1, 0, "SetFormatVersion", setFormatVersionMessage, setFormatVersionCommand),
	line(3, 1, 0, "SetClusterSetting", setClusterSettingMessage, setClusterSettingCommand),
	line(4, 1, 1, "Audit", auditMessage, auditCommand),
	line(10, 1, 1, "CreateQueue", createQueueMessage, createQueueCommand),
	line(11, 1, 1, "DeleteQueue", deleteQueueMessage, deleteQueueCommand),
	line(12, 1, 1, "SetQueueAttributes", setQueueAttributesMessage, setQueueAttributesCommand),
	line(13, 1, 1, "SetQueueTags", setQueueTagsMessage, setQueueTagsCommand),
	line(14, 1, 1, "SetQueuePolicy", setQueuePolicyMessage, setQueuePolicyCommand),
	line(15, 1, 1, "PurgeQueue", purgeQueueMessage, purgeQueueCommand),
	line(16, 1, 3, "ReleaseGroup", releaseGroupMessage, releaseGroupCommand),
	manual(line(sendMessagesNumber, 1, 1, "SendMessages", sendMessagesMessage, sendMessagesCommand), appendSendMessages, parseSendMessages),
	manual(line(21, 1, 1, "ReceiveMessages", receiveMessagesMessage, receiveMessagesCommand), appendReceiveMessages, parseReceiveMessages),
	manual(line(22, 1, 1, "DeleteMessages", deleteMessagesMessage, deleteMessagesCommand), appendDeleteMessages, parseDeleteMessages),
	line(23, 1, 1, "ChangeMessageVisibility", changeVisibilityMessage, changeVisibilityCommand),
	line(24, 1, 3, "CancelScheduled", cancelScheduledMessage, cancelScheduledCommand),
	line(25, 1, 3, "Defer", deferMessage, deferCommand),
	line(26, 1, 3, "ReceiveDeferred", receiveDeferredMessage, receiveDeferredCommand),
	line(27, 1, 3, "DeadLetter", deadLetterMessage, deadLetterCommand),
	line(28, 1, 3, "ForgetDeduplication", forgetDeduplicationMessage, forgetDeduplicationCommand),
	line(30, 1, 1, "StartMoveTask", startMoveTaskMessage, startMoveTaskCommand),
	line(31, 1, 1, "CancelMoveTask", cancelMoveTaskMessage, cancelMoveTaskCommand),
	line(32, 1, 1, "MoveMessages", moveMessagesMessage, moveMessagesCommand),
	line(replayMessagesNumber, 1, 3, "ReplayMessages", replayMessagesMessage, replayMessagesCommand),
	line(34, 1, 3, "ReportDeliveries", reportDeliveriesMessage, reportDeliveriesCommand),
	line(40, 1, 3, "CreateTopic", createTopicMessage, createTopicCommand),
	line(41, 1, 3, "DeleteTopic", deleteTopicMessage, deleteTopicCommand),
	line(42, 1, 3, "SetTopicAttributes", setTopicAttributesMessage, setTopicAttributesCommand),
	line(43, 1, 3, "SetTopicTags", setTopicTagsMessage, setTopicTagsCommand),
	line(44, 1, 3, "SetTopicPolicy", setTopicPolicyMessage, setTopicPolicyCommand),
	line(45, 1, 3, "Subscribe", subscribeMessage, subscribeCommand),
	line(46, 1, 3, "Unsubscribe", unsubscribeMessage, unsubscribeCommand),
	line(47, 1, 3, "SetSubscriptionAttributes", setSubscriptionAttributesMessage, setSubscriptionAttributesCommand),
	line(publishNumber, 1, 3, "Publish", publishMessage, publishCommand),
	line(49, 1, 3, "ConfirmSubscription", confirmSubscriptionMessage, confirmSubscriptionCommand),
	line(50, 1, 3, "AcceptSession", acceptSessionMessage, acceptSessionCommand),
	line(51, 1, 3, "RenewSession", renewSessionMessage, renewSessionCommand),
	line(52, 1, 3, "ReleaseSession", releaseSessionMessage, releaseSessionCommand),
	line(setSessionStateNumber, 1, 3, "SetSessionState", setSessionStateMessage, setSessionStateCommand),
	line(60, 1, 3, "CreateAccessKey", createAccessKeyMessage, createAccessKeyCommand),
	line(61, 1, 3, "DeleteAccessKey", deleteAccessKeyMessage, deleteAccessKeyCommand),
	line(62, 1, 3, "UpdateAccessKey", updateAccessKeyMessage, updateAccessKeyCommand),
	line(63, 1, 3, "PutUserPolicy", putUserPolicyMessage, putUserPolicyCommand),
	line(64, 1, 3, "CreateAccount", createAccountMessage, createAccountCommand),
	line(65, 1, 3, "SetAccountQuota", setAccountQuotaMessage, setAccountQuotaCommand),
	line(66, 1, 3, "DeleteAccount", deleteAccountMessage, deleteAccountCommand),
}

// line makes a table line from the two conversions of a command.
func line[C any, M any, PC interface {
	*C
	queue.Command
}, PM interface {
	*M
	proto.Message
}](number, version uint8, minimum uint32, name string, toMessage func(PC) PM, toCommand func(PM) (PC, error)) codec {
	return codec{
		number:  number,
		version: version,
		minimum: minimum,
		name:    name,
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

// MinimumVersion is the format version that must be in force before cmd may
// be proposed. A command this package does not know needs more than any.
func MinimumVersion(cmd queue.Command) uint32 {
	c, err := codecOf(cmd)
	if err != nil {
		return format.CurrentVersion + 1
	}
	return max(c.minimum, minimumOfOptions(cmd))
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

// AddsMessages reports whether the command in a frame adds messages, or as many bytes: it
// is a send, a publish, a step of a replay, or sets the state of a session. To clear that
// makes room.
func AddsMessages(frame []byte) bool {
	c, body, err := parseFrame(frame)
	if err != nil {
		return false
	}
	switch c.number {
	case sendMessagesNumber, publishNumber, replayMessagesNumber:
		return true
	case setSessionStateNumber:
		cmd, err := c.decode(nil, body)
		set, ok := cmd.(*queue.SetSessionState)
		return err == nil && ok && set.StateGiven
	}
	return false
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
