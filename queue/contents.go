package queue

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Base types of message attributes.
const (
	typeString = "String"
	typeNumber = "Number"
	typeBinary = "Binary"
)

const (
	// reservedAttributesMax is how many attributes a message may have
	// beyond MessageAttributesMax on a queue with reserved attributes.
	reservedAttributesMax = 2
	// traceHeaderLengthMax bounds AWSTraceHeader, which AWS does not count
	// in the size of a message; its tracing headers are below 256 bytes.
	traceHeaderLengthMax = 1024
	// Bounds of Number attributes, from the AWS documentation.
	numberDigitsMax   = 38
	numberExponentMax = 126
	numberExponentMin = -128
)

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
			return InvalidParameter(noGroupID)
		}
	}
	for i := range c.Entries {
		if a.needsDeduplicationID() && !c.Entries[i].DeduplicationIDGiven {
			return InvalidParameter(noDeduplicationID)
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
	if total > BatchBytesMax {
		return newError(BatchRequestTooLong, "Batch requests cannot be longer than ", strconv.Itoa(BatchBytesMax),
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
	return sendRules{fifo: isFIFOName(queue), nameOnly: true, bytesMax: MessageBytesMax}
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
		return MissingParameter("MessageBody")
	}
	if e.size() > a.bytesMax {
		return tooLong(a.bytesMax, batch)
	}
	if badCharacter(e.Body) {
		return newError(InvalidMessageContents, "Invalid characters found. Valid unicode characters are "+validCharacters)
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
		return InvalidValue(partitionKey, reservedPartitionKey, "It must be equal to the MessageGroupId if both are given.")
	}
	return a.checkForType(e, batch)
}

// checkForType makes the checks that depend on the queue type.
func (a *sendRules) checkForType(e *SendEntry, batch bool) *Error {
	if d := e.DelaySeconds; d.Given && (d.Value < 0 || d.Value > DelaySecondsMax) {
		return InvalidValue(strconv.FormatInt(d.Value, 10), "DelaySeconds", "DelaySeconds must be >= 0 and <= 900.")
	}
	if !a.fifo {
		if e.DeduplicationIDGiven {
			return InvalidValue(e.DeduplicationID, "MessageDeduplicationId", wrongQueueType)
		}
		return nil
	}
	if d := e.DelaySeconds; d.Given && d.Value > 0 {
		return InvalidValue(strconv.FormatInt(d.Value, 10), "DelaySeconds", wrongQueueType)
	}
	if a.needsGroupID && !e.GroupIDGiven {
		if batch {
			return InvalidParameter(noGroupID)
		}
		return newError(MissingRequiredParameter, noGroupID)
	}
	if a.needsDeduplicationID && !e.DeduplicationIDGiven {
		return InvalidParameter(noDeduplicationID)
	}
	return nil
}

func tooLong(limit int64, batch bool) *Error {
	begin := "One or more parameters are invalid."
	if batch {
		begin = "One or more parameters cannot be validated."
	}
	return InvalidParameter(begin, " Reason: Message must be shorter than ", strconv.FormatInt(limit, 10), " bytes.")
}

// validID reports whether an id of a message, group, attempt or partition has
// 1 to 128 printable ASCII characters without blank.
func validID(id string) bool {
	if id == "" || len(id) > IDLengthMax {
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
	return InvalidValue(value, name, name+" can only include alphanumeric and punctuation characters. 1 to 128 in length.")
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

// checkAttributes checks the message attributes of an entry and its trace
// header, and returns the partition key if the queue takes one.
func (a *sendRules) checkAttributes(e *SendEntry) (partitionKey string, err *Error) {
	if !ValidTraceHeader(e.TraceHeader) {
		return "", InvalidParameter("The value of message system attribute 'AWSTraceHeader' is invalid.")
	}
	if len(e.Attributes) == 0 {
		return "", nil
	}
	attrs := e.Attributes
	if a.nameOnly {
		attrs = withoutReserved(attrs)
	}
	if a.reserved && len(attrs) <= MessageAttributesMax+reservedAttributesMax {
		if _, partitionKey, attrs, err = reserved(attrs); err != nil {
			return "", err
		}
	}
	if len(attrs) > MessageAttributesMax {
		return "", InvalidParameter("Number of message attributes [", strconv.Itoa(len(attrs)),
			"] exceeds the allowed maximum [", strconv.Itoa(MessageAttributesMax), "].")
	}
	for i := range attrs {
		if err := checkAttribute(&attrs[i]); err != nil {
			return "", err
		}
		for j := range i {
			if attrs[j].Name == attrs[i].Name {
				return "", InvalidParameter("Message (user) attribute '", attrs[i].Name, "' is given more than once.")
			}
		}
	}
	return partitionKey, nil
}

func checkAttribute(m *MessageAttribute) *Error {
	if err := checkAttributeName(m.Name); err != nil {
		return err
	}
	if len(m.DataType) > AttributeTypeLengthMax {
		return InvalidParameter("Message (user) attribute types must be shorter than 256 Bytes")
	}
	base := baseType(m.DataType)
	if base == "" || badCharacter(m.DataType) {
		return InvalidParameter("The type of message (user) attribute '", m.Name,
			"' is invalid. You must use only the following supported type prefixes: Binary, Number, String.")
	}
	switch {
	case m.Value == "":
		return InvalidParameter("Message (user) attribute '", m.Name, "' must contain a non-empty value of type '", base, "'.")
	case base == typeBinary:
		return nil
	case badCharacter(m.Value):
		return InvalidParameter("Invalid characters found in the value of message (user) attribute '", m.Name,
			"'. Valid unicode characters are "+validCharacters)
	case base == typeNumber && !validNumber(m.Value):
		return InvalidParameter("Can't cast the value of message (user) attribute '", m.Name, "' to a number.")
	}
	return nil
}

func checkAttributeName(name string) *Error {
	if name == "" {
		return InvalidParameter("The request must contain non-empty message (user) attribute names.")
	}
	if len(name) > AttributeNameLengthMax {
		return InvalidParameter("Message (user) attribute names must be shorter than 256 Bytes")
	}
	for _, r := range name {
		if !nameCharacter(r) {
			return badAttributeName()
		}
	}
	if hasPrefixFold(name, "AWS.") || hasPrefixFold(name, "Amazon.") || name[0] == '.' || name[len(name)-1] == '.' {
		return InvalidParameter("You can't use message attribute names beginning with 'AWS.' or 'Amazon.'. " +
			"These strings are reserved for internal use. Additionally, they cannot start or end with '.'.")
	}
	if strings.Contains(name, "..") {
		return badAttributeName()
	}
	return nil
}

// badAttributeName has a text that ends in a blank, as AWS sends it.
func badAttributeName() *Error {
	return InvalidParameter("Message (user) attributes name can only contain upper and lower score characters, " +
		"digits, periods, hyphens and underscores. ")
}

// nameCharacter reports whether an attribute name may have r. AWS takes
// letters like ø beside what it documents; here that is everything from
// U+00C0 on that a body may have, where the letters beyond ASCII begin.
func nameCharacter(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.':
		return true
	}
	return r >= 0xC0 && r != utf8.RuneError && r != 0xFFFE && r != 0xFFFF
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// baseType is String, Number or Binary, the part of a data type before its
// custom suffix, and "" for any other type.
func baseType(dataType string) string {
	base, _, _ := strings.Cut(dataType, ".")
	switch base {
	case typeString, typeNumber, typeBinary:
		return base
	}
	return ""
}

// validNumber reports whether text is a decimal number, perhaps with an
// exponent, of at most 38 digits of precision and from 10^-128 to below
// 10^127. It is stored as sent.
func validNumber(text string) bool {
	mantissa, exponentText, hasExponent := strings.Cut(strings.ToLower(text), "e")
	exponent := 0
	if hasExponent {
		n, err := strconv.Atoi(exponentText)
		if err != nil || n > 1_000_000 || n < -1_000_000 {
			return false
		}
		exponent = n
	}
	if mantissa != "" && (mantissa[0] == '-' || mantissa[0] == '+') {
		mantissa = mantissa[1:]
	}
	whole, decimals, _ := strings.Cut(mantissa, ".")
	all := whole + decimals
	if all == "" || strings.Trim(all, "0123456789") != "" {
		return false
	}
	fromFirst := strings.TrimLeft(all, "0")
	if fromFirst == "" {
		return true
	}
	if len(strings.TrimRight(fromFirst, "0")) > numberDigitsMax {
		return false
	}
	magnitude := exponent + len(whole) - (len(all) - len(fromFirst)) - 1
	return magnitude >= numberExponentMin && magnitude <= numberExponentMax
}
