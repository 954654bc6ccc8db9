package queue

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// traceHeaderLengthMax bounds AWSTraceHeader, which AWS does not count in the size
// of a message; its tracing headers are below 256 bytes.
const traceHeaderLengthMax = 1024

const (
	noDeduplicationID = "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
	noGroupID         = "The request must contain the parameter MessageGroupId."
	wrongQueueType    = "The request include parameter that is not valid for this queue type."
	validCharacters   = "#x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF"
)

// isFIFOName reports whether a queue of this name is a FIFO queue. AWS
// compares the suffix exactly.
func isFIFOName(name string) bool { return strings.HasSuffix(name, ".fifo") }

// size is what counts against MaximumMessageSize: the body and, of each
// message attribute, name, type and value.
func (e *SendEntry) size() int64 {
	n := len(e.Body)
	for i := range e.Attributes {
		m := &e.Attributes[i]
		n += len(m.Name) + len(m.DataType) + len(m.Value)
	}
	return int64(n)
}

// checkSendBatch makes the checks of SendMessageBatch that refuse the whole
// request. A FIFO entry without group id has another code here than in
// SendMessage, and an entry that lacks both ids is refused for the group (all
// recorded on AWS).
func checkSendBatch(a *QueueAttributes, c *SendMessages) *Error {
	if !c.Batch {
		return nil
	}
	for i := range c.Entries { // recorded: the group id comes first
		if a.needsGroupID() && !c.Entries[i].GroupIDGiven {
			return refusal.InvalidParameter(noGroupID)
		}
	}
	for i := range c.Entries {
		if a.needsDeduplicationID() && !c.Entries[i].DeduplicationIDGiven {
			return refusal.InvalidParameter(noDeduplicationID)
		}
	}
	return checkBatchBytes(c)
}

// checkBatchBytes bounds a batch, whatever its queue.
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

// ValidTraceHeader reports whether a text can be the AWSTraceHeader of a message.
func ValidTraceHeader(text string) bool {
	return len(text) <= traceHeaderLengthMax && !badCharacter(text)
}

func (a *QueueAttributes) needsGroupID() bool { return a.FIFO && !a.GroupOptional }

func (a *QueueAttributes) needsDeduplicationID() bool {
	return a.FIFO && !a.Deduplication.ContentBased && !a.Deduplication.Disabled
}

// sendRules is what a queue demands of a message.
type sendRules struct {
	fifo                 bool
	needsGroupID         bool
	needsDeduplicationID bool
	reserved             bool // takes attributes with reservedPrefix for itself
	nameOnly             bool // whether it does is not known
	bytesMax             int64
}

// rulesOfName is what every queue of a name demands, whatever its attributes.
func rulesOfName(queue string) sendRules {
	return sendRules{fifo: isFIFOName(queue), nameOnly: true, bytesMax: limits.MessageBytesMax}
}

func (a *QueueAttributes) sendRules() sendRules {
	return sendRules{
		fifo: a.FIFO, needsGroupID: a.needsGroupID(), needsDeduplicationID: a.needsDeduplicationID(),
		reserved: a.ReservedAttributes, bytesMax: a.MaximumMessageSize,
	}
}

// checkSend checks one entry against the attributes of its queue.
func checkSend(a *QueueAttributes, e *SendEntry, batch bool) *Error {
	rules := a.sendRules()
	return rules.check(e, batch)
}

// check checks one entry, in the order in which AWS is known or assumed to
// check, and returns the first refusal.
func (a *sendRules) check(e *SendEntry, batch bool) *Error {
	if e.Body == "" {
		return refusal.MissingParameter("MessageBody")
	}
	if e.size() > a.bytesMax {
		return tooLong(a.bytesMax, batch)
	}
	if badCharacter(e.Body) {
		return refusal.New(refusal.InvalidMessageContents, "Invalid characters found. Valid unicode characters are "+validCharacters)
	}
	partitionKey, err := a.checkAttributes(e)
	if err != nil {
		return err
	}
	if e.DeduplicationIDGiven && !validID(e.DeduplicationID) {
		return invalidID(e.DeduplicationID, "MessageDeduplicationId")
	}
	if e.GroupIDGiven && !validID(e.GroupID) {
		return invalidID(e.GroupID, "MessageGroupId")
	}
	if partitionKey != "" && e.GroupIDGiven && partitionKey != e.GroupID {
		return refusal.InvalidValue(partitionKey, reservedPartitionKey, "It must be equal to the MessageGroupId if both are given.")
	}
	return a.checkForType(e, batch)
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

// validID reports whether an id of a message, group, attempt or partition has
// 1 to 128 printable ASCII characters without blank.
func validID(id string) bool {
	if id == "" || len(id) > limits.IDLengthMax {
		return false
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return true
}

func invalidID(value, name string) *Error {
	return refusal.InvalidValue(value, name, name+" can only include alphanumeric and punctuation characters. 1 to 128 in length.")
}

// badCharacter reports whether text has a character that XML cannot carry,
// which SQS refuses in both protocols, or is not UTF-8. Eight bytes of plain
// ASCII are taken at a time.
func badCharacter(text string) bool {
	i := 0
	for i+8 <= len(text) {
		if !plain(text[i : i+8]) {
			next, ok := slowly(text, i, i+8)
			if !ok {
				return true
			}
			i = next
			continue
		}
		i += 8
	}
	_, ok := slowly(text, i, len(text))
	return !ok
}

// plain reports whether each of eight bytes is ASCII and not a control.
func plain(s string) bool {
	const lows, highs = 0x2020202020202020, 0x8080808080808080
	_ = s[7]
	w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	// Subtracting 32 from each byte sets its high bit if it was lower.
	// A borrow can only come from such a byte, so no bad word passes.
	return (w|(w-lows))&highs == 0
}

// slowly checks the characters that begin in text[i:end] one by one and
// returns where the next one begins.
func slowly(text string, i, end int) (int, bool) {
	for i < end {
		c := text[i]
		if c < utf8.RuneSelf {
			if c < ' ' && c != '\t' && c != '\n' && c != '\r' {
				return i, false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		// Surrogates do not decode; of the rest only these two are out.
		if r == utf8.RuneError && n == 1 || r == 0xFFFE || r == 0xFFFF {
			return i, false
		}
		i += n
	}
	return i, true
}
