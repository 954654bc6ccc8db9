package content

// traceHeaderLengthMax bounds AWSTraceHeader, which AWS does not count in the size
// of a message; its tracing headers are below 256 bytes.
const traceHeaderLengthMax = 1024

// ValidTraceHeader reports whether a text can be the AWSTraceHeader of a message.
func ValidTraceHeader(text string) bool {
	return len(text) <= traceHeaderLengthMax && !BadCharacter(text)
}
