package queue

import (
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/rendition"
)

const (
	noDeduplicationID = "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
	noGroupID         = "The request must contain the parameter MessageGroupId."
	wrongQueueType    = "The request include parameter that is not valid for this queue type."
)

// isFIFOName reports whether a name is that of a FIFO queue or topic. AWS compares the suffix
// exactly.
func isFIFOName(name string) bool { return strings.HasSuffix(name, ".fifo") }

// size returns the bytes that count against MaximumMessageSize.
func (e *SendEntry) size() int64 { return message.Size(e.Body, e.Attributes) + e.Encoded.Size() }

// checkSendBatch makes the checks of SendMessageBatch that refuse the whole request. A missing
// group id has another code than in SendMessage, and takes precedence over a missing deduplication
// id (recorded on AWS).
func checkSendBatch(a *QueueAttributes, c *SendMessages) *Error {
	if !c.Batch {
		return nil
	}
	for i := range c.Entries { // recorded: the group id comes first
		if needsGroupID(a) && !c.Entries[i].GroupIDGiven {
			return refusal.InvalidParameter(noGroupID)
		}
	}
	for i := range c.Entries {
		if needsDeduplicationID(a) && !c.Entries[i].DeduplicationIDGiven {
			return refusal.InvalidParameter(noDeduplicationID)
		}
	}
	return checkBatchBytes(c)
}

func checkBatchBytes(c *SendMessages) *Error {
	if !c.Batch {
		return nil
	}
	total := int64(0)
	for i := range c.Entries {
		total += c.Entries[i].size()
	}
	if total > limits.BatchBytesMax {
		return refusal.New(refusal.BatchRequestTooLong, "Batch requests cannot be longer than ", strconv.Itoa(limits.BatchBytesMax),
			" bytes. You have sent ", strconv.FormatInt(total, 10), " bytes.")
	}
	return nil
}

// refusesSends returns the error of a queue whose status refuses messages from clients.
func (q *Queue) refusesSends() *Error {
	if !q.attributes.Status.RefusesSends() {
		return nil
	}
	return refusal.New(refusal.EntityDisabled, "Sending to the queue is disabled: its EntityStatus is ", q.attributes.Status.String(), ".")
}

func needsGroupID(a *QueueAttributes) bool { return a.FIFO && !a.GroupOptional }

func needsDeduplicationID(a *QueueAttributes) bool {
	return a.FIFO && !a.Deduplication.ContentBased && !a.Deduplication.Disabled
}

// sendRules are the rules of a queue for messages.
type sendRules struct {
	fifo                 bool
	needsGroupID         bool
	needsDeduplicationID bool
	reserved             message.ReservedNames
	bytesMax             int64
}

// rulesOfName returns the rules that follow from the name of a queue.
func rulesOfName(queue string) sendRules {
	return sendRules{fifo: isFIFOName(queue), reserved: message.MaybeReserved, bytesMax: limits.MessageBytesMax}
}

// rulesOf returns the rules of a queue with attributes a.
func rulesOf(a *QueueAttributes) sendRules {
	reserved := message.NotReserved
	if a.ReservedAttributes {
		reserved = message.Reserved
	}
	return sendRules{
		fifo: a.FIFO, needsGroupID: needsGroupID(a), needsDeduplicationID: needsDeduplicationID(a),
		reserved: reserved, bytesMax: a.MaximumMessageSize,
	}
}

// checkSend checks one entry against the attributes of its queue.
func checkSend(a *QueueAttributes, e *SendEntry, batch bool) *Error {
	rules := rulesOf(a)
	return rules.check(e, batch)
}

// check returns the first error of an entry, in the order that AWS is known or assumed to use.
func (a *sendRules) check(e *SendEntry, batch bool) *Error {
	if e.Body == "" && e.Encoded.IsText() {
		return refusal.MissingParameter("MessageBody")
	}
	if e.size() > a.bytesMax {
		return tooLong(a.bytesMax, batch)
	}
	if err := checkContent(e.Body, e.Encoded); err != nil {
		return err
	}
	if !message.ValidTraceHeader(e.TraceHeader) {
		return refusal.InvalidParameter("The value of message system attribute 'AWSTraceHeader' is invalid.")
	}
	partitionKey, err := message.CheckAttributes(e.Attributes, a.reserved, e.Native)
	if err != nil {
		return err
	}
	if err := e.checkIDs(); err != nil {
		return err
	}
	if partitionKey != "" && e.GroupIDGiven && partitionKey != e.GroupID {
		return refusal.InvalidValue(partitionKey, message.PartitionKeyName, "It must be equal to the MessageGroupId if both are given.")
	}
	if e.Options != nil {
		if !a.fifo {
			return fifoOnly("Scheduled messages, partition keys and times to live")
		}
		if err := e.Options.check(e.GroupID); err != nil {
			return err
		}
	}
	return a.checkForType(e, batch)
}

// checkContent checks the body and the parts that belong to it.
func checkContent(body string, encoded *Encoded) *Error {
	if encoded != nil {
		if err := encoded.Check(body); err != nil {
			return err
		}
	}
	if encoded.IsText() {
		return message.CheckBody(body)
	}
	return nil
}

// checkSections checks the sections of an AMQP message. The state machine does not read them, so this
// belongs before the log.
func checkSections(body string, encoded *Encoded) *Error {
	if encoded == nil || encoded.Format != message.FormatAMQP {
		return nil
	}
	if err := rendition.Check(encoded.Sections, body); err != nil {
		return refusal.New(refusal.InvalidMessageContents, "The AMQP message is invalid: ", err.Error(), ".")
	}
	return nil
}

// checkIDs checks the characters of the ids.
func (e *SendEntry) checkIDs() *Error {
	valid, validGroup, invalid := message.ValidID, message.ValidID, message.InvalidID
	if e.Native {
		valid, validGroup, invalid = message.ValidNativeID, message.ValidNativeGroup, message.InvalidNativeID
	}
	if e.DeduplicationIDGiven && !valid(e.DeduplicationID) {
		return invalid(e.DeduplicationID, "MessageDeduplicationId")
	}
	if e.GroupIDGiven && !validGroup(e.GroupID) {
		return invalid(e.GroupID, "MessageGroupId")
	}
	return nil
}

// checkForType makes the checks that depend on the queue type.
func (a *sendRules) checkForType(e *SendEntry, batch bool) *Error {
	if d := e.DelaySeconds; d.Given && (d.Value < 0 || d.Value > limits.DelaySecondsMax) {
		return refusal.InvalidValue(strconv.FormatInt(d.Value, 10), "DelaySeconds", "DelaySeconds must be >= 0 and <= 900.")
	}
	if !a.fifo {
		if e.DeduplicationIDGiven {
			return refusal.InvalidValue(e.DeduplicationID, "MessageDeduplicationId", wrongQueueType)
		}
		return nil
	}
	if d := e.DelaySeconds; d.Given && d.Value > 0 {
		return refusal.InvalidValue(strconv.FormatInt(d.Value, 10), "DelaySeconds", wrongQueueType)
	}
	if a.needsGroupID && !e.GroupIDGiven {
		if batch {
			return refusal.InvalidParameter(noGroupID)
		}
		return refusal.New(refusal.MissingRequiredParameter, noGroupID)
	}
	if a.needsDeduplicationID && !e.DeduplicationIDGiven {
		return refusal.InvalidParameter(noDeduplicationID)
	}
	return nil
}

func tooLong(limit int64, batch bool) *Error {
	begin := "One or more parameters are invalid."
	if batch {
		begin = "One or more parameters cannot be validated."
	}
	return refusal.InvalidParameter(begin, " Reason: Message must be shorter than ", strconv.FormatInt(limit, 10), " bytes.")
}
