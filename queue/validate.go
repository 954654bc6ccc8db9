package queue

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	senderIDLengthMax  = 256 // ours; an IAM principal id with session name is below 100
	clusterIDLengthMax = 64
	receiptKeyLength   = 32
	policyAccountsMax  = 50   // the quota of AWS for principals in one policy
	tagsRemovedMax     = 1000 // ours; a queue has 50
	taskIDLengthMax    = 64
	accountLengthMax   = 64 // AWS: 12 digits, which a private installation need not follow
)

const nameRule = "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"

// permittedActions are those that AddPermission may grant. AWS lets only the
// owner of a queue do the rest.
var permittedActions = [...]string{
	"*", "ChangeMessageVisibility", "DeleteMessage", "GetQueueAttributes", "GetQueueUrl",
	"ListDeadLetterSourceQueues", "PurgeQueue", "ReceiveMessage", "SendMessage",
}

// Validate has nothing to check.
func (*AdvanceClock) Validate() *Error { return nil }

// Validate refuses version zero, the one of a new state.
func (c *SetFormatVersion) Validate() *Error {
	if c.Version == 0 {
		return errorf(InvalidFormatVersion, "the format version must be above 0")
	}
	return nil
}

// Validate checks the value against the rule of its setting.
func (c *SetClusterSetting) Validate() *Error {
	ok, rule := false, ""
	switch c.Name {
	case SettingClusterID:
		ok = c.Value != "" && len(c.Value) <= clusterIDLengthMax && !badCharacter(c.Value)
		rule = "must have 1 to 64 characters"
	case SettingReceiptKey:
		ok = len(c.Value) == receiptKeyLength && strings.Trim(c.Value, "0123456789abcdef") == ""
		rule = "must be 32 lower-case hexadecimal digits"
	case SettingMinimumWindow:
		n, isNumber := parseNumber(c.Value)
		ok = isNumber && n >= 1 && n <= DeduplicationSecondsMin
		rule = "must be between 1 and 20"
	case SettingAWSCooldowns:
		ok = c.Value == "true" || c.Value == "false"
		rule = "must be true or false"
	default:
		return errorf(InvalidClusterSetting, "there is no cluster setting ", c.Name)
	}
	if !ok {
		return errorf(InvalidClusterSetting, "cluster setting ", c.Name, " ", rule)
	}
	return nil
}

// Validate checks the name, the tags, and of the attributes what is not a
// matter of a cluster setting.
func (c *CreateQueue) Validate() *Error {
	if err := c.wellFormed(); err != nil {
		return err
	}
	return checkAttributeValues(isFIFOName(c.Queue), c.Attributes)
}

// wellFormed checks the name, against the rule that FifoQueue selects, and the
// tags.
func (c *CreateQueue) wellFormed() *Error {
	value, _ := valueOf(c.Attributes, nameFIFO)
	if on, _ := parseBool(value); on {
		if base, isFIFO := strings.CutSuffix(c.Queue, ".fifo"); !isFIFO || !plainName(base) || len(c.Queue) > QueueNameLengthMax {
			return invalidParameter("The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, " +
				"must end with .fifo suffix and be 1 to 80 in length.")
		}
	} else if !plainName(c.Queue) || len(c.Queue) > QueueNameLengthMax {
		// This is also what AWS says of a name ending in .fifo.
		return invalidParameter(nameRule)
	}
	return checkTags(c.Queue, c.Tags)
}

// plainName reports whether name has one or more letters, digits, hyphens and
// underscores.
func plainName(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return name != ""
}

// Validate has nothing to check but the length of the name.
func (c *DeleteQueue) Validate() *Error { return checkQueueName(c.Queue) }

// Validate checks the attributes as far as a queue of this name has them.
func (c *SetQueueAttributes) Validate() *Error {
	if err := checkQueueName(c.Queue); err != nil {
		return err
	}
	return checkAttributeValues(isFIFOName(c.Queue), c.Attributes)
}

// wellFormed checks nothing: the attributes are checked against the queue.
func (c *SetQueueAttributes) wellFormed() *Error { return nil }

// Validate has nothing to check but the length of the name.
func (c *PurgeQueue) Validate() *Error { return checkQueueName(c.Queue) }

// Validate checks keys and values. Whether the queue has room for the tags is
// checked when the command is applied.
func (c *SetQueueTags) Validate() *Error {
	if err := checkQueueName(c.Queue); err != nil {
		return err
	}
	if len(c.Remove) > tagsRemovedMax {
		return invalidParameter("No more than ", strconv.Itoa(tagsRemovedMax), " tag keys can be removed in one request.")
	}
	return c.wellFormed()
}

// wellFormed is Validate without bounds that only spare the log.
func (c *SetQueueTags) wellFormed() *Error {
	if len(c.Set) == 0 && len(c.Remove) == 0 {
		return missingParameter("Tags")
	}
	for _, key := range c.Remove {
		if err := checkTagKey(key); err != nil {
			return err
		}
	}
	return checkTags(c.Queue, c.Set)
}

func checkTags(queue string, tags []Tag) *Error {
	if len(tags) > TagsMax {
		return tooManyTags(queue)
	}
	for _, t := range tags {
		if err := checkTagKey(t.Key); err != nil {
			return err
		}
		if !utf8.ValidString(t.Value) || utf8.RuneCountInString(t.Value) > TagValueLengthMax {
			return invalidParameter("Tag values must be between 0 and 256 characters in length.")
		}
	}
	return nil
}

func checkTagKey(key string) *Error {
	if key == "" || !utf8.ValidString(key) || utf8.RuneCountInString(key) > TagKeyLengthMax {
		return invalidParameter("Tag keys must be between 1 and 128 characters in length.")
	}
	return nil
}

// tooManyTags refuses tags beyond the 50 of a queue.
func tooManyTags(queue string) *Error {
	return invalidParameter("Too many tags added for queue ", queue, ".")
}

// Validate checks the label and, for adding, accounts and actions.
func (c *SetQueuePolicy) Validate() *Error {
	if err := checkQueueName(c.Queue); err != nil {
		return err
	}
	if c.Label == "" {
		return missingParameter("Label")
	}
	if !plainName(c.Label) || len(c.Label) > PolicyLabelLengthMax {
		return badLabel(c.Label, nameRule+".")
	}
	if c.Remove {
		return nil
	}
	if len(c.AccountIDs) == 0 {
		return missingParameter("AWSAccountIds")
	}
	if len(c.Actions) == 0 {
		return missingParameter("Actions")
	}
	if n := len(c.AccountIDs); n > policyAccountsMax {
		return errorf(OverLimit, strconv.Itoa(n), " principals were found, maximum allowed is ", strconv.Itoa(policyAccountsMax), ".")
	}
	for _, account := range c.AccountIDs {
		if !plainName(account) || len(account) > accountLengthMax {
			return invalidValue(account, "PrincipalId", "Unable to verify.")
		}
	}
	if n := len(c.Actions); n > PolicyActionsMax {
		return errorf(OverLimit, strconv.Itoa(n), " Actions were found, maximum allowed is ", strconv.Itoa(PolicyActionsMax), ".")
	}
	for _, action := range c.Actions {
		if !permitted(action) {
			return invalidValue("SQS:"+action, "ActionName", "Only the queue owner is allowed to invoke this action.")
		}
	}
	return nil
}

// permitted compares as IAM does, without regard to letter case.
func permitted(action string) bool {
	for _, p := range permittedActions {
		if strings.EqualFold(p, action) {
			return true
		}
	}
	return false
}

// Validate checks what every queue of this name demands of a message. A batch
// is refused only as a whole, or if each of its entries is.
func (c *SendMessages) Validate() *Error {
	_, err := c.check()
	return err
}

// wellFormed checks the number of entries and the sender id.
func (c *SendMessages) wellFormed() *Error {
	if err := checkEntries(len(c.Entries), "SendMessageBatchRequestEntry"); err != nil {
		return err
	}
	if len(c.SenderID) > senderIDLengthMax || badCharacter(c.SenderID) {
		return invalidParameter("The sender id is longer than ", strconv.Itoa(senderIDLengthMax), " bytes or has invalid characters.")
	}
	return nil
}

// checkEntries bounds the entries of a batch; element is the name in the error
// text of AWS.
func checkEntries(n int, element string) *Error {
	if n == 0 {
		return errorf(EmptyBatchRequest, "There should be at least one ", element, " in the request.")
	}
	if n > BatchEntriesMax {
		return errorf(TooManyEntriesInBatchRequest, "Maximum number of entries per request are ",
			strconv.Itoa(BatchEntriesMax), ". You have sent ", strconv.Itoa(n), ".")
	}
	return nil
}

// Validate checks ranges and, for a FIFO queue, the attempt id, which AWS
// ignores on a standard queue.
func (c *ReceiveMessages) Validate() *Error {
	if err := checkQueueName(c.Queue); err != nil {
		return err
	}
	if m := c.MaxMessages; m.Given && (m.Value < 1 || m.Value > ReceiveMessagesMax) {
		return invalidValue(strconv.FormatInt(m.Value, 10), "MaxNumberOfMessages", "Must be between 1 and 10, if provided.")
	}
	if err := checkVisibilityRange(c.VisibilityTimeout); err != nil {
		return err
	}
	if c.AttemptIDGiven && isFIFOName(c.Queue) && !validID(c.AttemptID) {
		return invalidID(c.AttemptID, "ReceiveRequestAttemptId")
	}
	return nil
}

// checkVisibility checks the timeout that ChangeMessageVisibility requires. In
// a batch its error is that of one entry.
func checkVisibility(v Int) *Error {
	if !v.Given {
		return missingParameter("VisibilityTimeout")
	}
	return checkVisibilityRange(v)
}

func checkVisibilityRange(v Int) *Error {
	if v.Given && (v.Value < 0 || v.Value > VisibilitySecondsMax) {
		return invalidValue(strconv.FormatInt(v.Value, 10), "VisibilityTimeout", "Must be >= 0 and <= 43200, if provided.")
	}
	return nil
}

// Validate checks the number of entries and the form of the handles. A batch is
// refused for its handles only if all are malformed.
func (c *DeleteMessages) Validate() *Error {
	_, err := c.check()
	return err
}

// wellFormed checks the number of entries.
func (c *DeleteMessages) wellFormed() *Error {
	return checkEntries(len(c.Handles), "DeleteMessageBatchRequestEntry")
}

// Validate checks the number of entries, the timeouts and the form of the
// handles. A batch is refused for these only if all are wrong.
func (c *ChangeMessageVisibility) Validate() *Error {
	_, err := c.check()
	return err
}

// wellFormed checks the number of entries and, outside a batch, the timeout.
func (c *ChangeMessageVisibility) wellFormed() *Error {
	if err := checkEntries(len(c.Entries), "ChangeMessageVisibilityBatchRequestEntry"); err != nil {
		return err
	}
	if c.Batch {
		return nil
	}
	return checkVisibility(c.Entries[0].VisibilityTimeout)
}

// Validate checks the source and the rate.
func (c *StartMoveTask) Validate() *Error {
	if c.Source == "" {
		return missingParameter("SourceArn")
	}
	if len(c.Source) > QueueNameLengthMax {
		return noSuchResource("SourceArn")
	}
	if len(c.Destination) > QueueNameLengthMax {
		return noSuchResource("DestinationArn")
	}
	if m := c.MaxPerSecond; m.Given && (m.Value < 1 || m.Value > MovePerSecondMax) {
		return invalidValue(strconv.FormatInt(m.Value, 10), "MaxNumberOfMessagesPerSecond", "Must be between 1 and 500, if provided.")
	}
	return nil
}

// Validate checks that the task handle named a task.
func (c *CancelMoveTask) Validate() *Error {
	if c.TaskID == "" || len(c.TaskID) > taskIDLengthMax || c.Source == "" || len(c.Source) > QueueNameLengthMax {
		return invalidParameter("Value for parameter TaskHandle is invalid.")
	}
	return nil
}

// Validate bounds the step; only the leader proposes this command.
func (c *MoveMessages) Validate() *Error {
	if c.TaskID == "" || c.Max < 1 || c.Max > MoveStepMax {
		return invalidParameter("A step of a move task needs a task id and moves 1 to ", strconv.Itoa(MoveStepMax), " messages.")
	}
	return nil
}
