package message

// traceHeaderLengthMax bounds AWSTraceHeader, which does not count in the size of a message. Ours;
// headers of AWS are below 256 bytes.
const traceHeaderLengthMax = 1024

// ValidTraceHeader reports whether text is a valid AWSTraceHeader.
func ValidTraceHeader(text string) bool {
	return len(text) <= traceHeaderLengthMax && !BadCharacter(text)
}
