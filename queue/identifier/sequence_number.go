package identifier

import "strconv"

// SequenceNumber orders the messages of one queue. It counts from 1 in the
// order of commits and is never reused, not even by a queue created again
// under the same name. Zero means "none" (standard queues show none).
//
// Clients see one number in every protocol and every text: that of Number and String.
type SequenceNumber uint64

// sequenceBase makes every printed number 20 digits long, as on AWS.
const sequenceBase = 10_000_000_000_000_000_000

// String prints the number as AWS does: 20 digits without leading zero.
func (s SequenceNumber) String() string {
	return strconv.FormatUint(sequenceBase+uint64(s), 10)
}

// Append appends what String prints to b, for a writer that must not allocate
// for it.
func (s SequenceNumber) Append(b []byte) []byte {
	return strconv.AppendUint(b, sequenceBase+uint64(s), 10)
}

// Number is the number that String prints, zero for none.
func (s SequenceNumber) Number() uint64 {
	if s == 0 {
		return 0
	}
	return sequenceBase + uint64(s)
}

// SequenceNumberOf reads a number that a client sent: that of Number, or the count alone.
// It reports false for what is neither.
func SequenceNumberOf(number uint64) (SequenceNumber, bool) {
	switch {
	case number >= sequenceBase:
		return SequenceNumber(number - sequenceBase), true
	case number <= 1<<63-1:
		return SequenceNumber(number), true
	default:
		return 0, false
	}
}

// ParseSequenceNumber reads the text of a number that SequenceNumberOf reads.
func ParseSequenceNumber(text string) (SequenceNumber, bool) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, false
	}
	return SequenceNumberOf(n)
}
