package identifier

import "strconv"

// SequenceNumber orders the messages of one queue. It counts from 1 in commit order and is never
// reused, even by a new queue with the same name. Zero means none; standard queues show none.
//
// Clients of every protocol see the number of Number and String.
type SequenceNumber uint64

// sequenceBase gives every printed number 20 digits, as on AWS.
const sequenceBase = 10_000_000_000_000_000_000

// String returns 20 digits, as AWS does.
func (s SequenceNumber) String() string {
	return strconv.FormatUint(sequenceBase+uint64(s), 10)
}

// Append appends the text of String to b without allocating.
func (s SequenceNumber) Append(b []byte) []byte {
	return strconv.AppendUint(b, sequenceBase+uint64(s), 10)
}

// Number returns the number that String prints, zero for none.
func (s SequenceNumber) Number() uint64 {
	if s == 0 {
		return 0
	}
	return sequenceBase + uint64(s)
}

// SequenceNumberOf reads a number from a client: that of Number, or the count itself. ok is false
// for any other number.
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

// ParseSequenceNumber is SequenceNumberOf for text.
func ParseSequenceNumber(text string) (SequenceNumber, bool) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, false
	}
	return SequenceNumberOf(n)
}
