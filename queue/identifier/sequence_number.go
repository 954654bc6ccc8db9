package identifier

import "strconv"

// SequenceNumber orders the messages of one queue. It counts from 1 in the
// order of commits and is never reused, not even by a queue created again
// under the same name. Zero means "none" (standard queues show none).
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

// ParseSequenceNumber reads the 20-digit text form. It reports false for
// anything that String cannot have printed.
func ParseSequenceNumber(text string) (SequenceNumber, bool) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < sequenceBase || len(text) != 20 {
		return 0, false
	}
	return SequenceNumber(n - sequenceBase), true
}
