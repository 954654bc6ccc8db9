package content

// Body holds the text of a message. It is a handle: rules never look inside,
// so that bodies can move out of memory without touching one.
type Body struct{ text string }

// NewBody wraps text.
func NewBody(text string) Body { return Body{text} }

// String is the text.
func (b Body) String() string { return b.text }

// Len is the length in bytes.
func (b Body) Len() int { return len(b.text) }
