package http1

import (
	"io"
	"net/http"
	"unsafe"
)

// Body is the body of a request that was read before its handler was called. It
// is used by one goroutine.
type Body struct {
	unread []byte
	err    error // what follows unread; nil: io.EOF
	lasts  bool  // its memory is used for nothing else afterwards, and
	given  bool  // a text has it
}

// NewBody makes a body of what was read; err says why it is not whole, if so.
func NewBody(read []byte, err error) *Body { return &Body{unread: read, err: err} }

// Read reads what is left.
func (b *Body) Read(p []byte) (int, error) {
	n := copy(p, b.unread)
	b.unread = b.unread[n:]
	if n == 0 && len(p) > 0 {
		if b.err != nil {
			return 0, b.err
		}
		return 0, io.EOF
	}
	return n, nil
}

// WriteTo writes what is left.
func (b *Body) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(b.unread)
	b.unread = b.unread[n:]
	if err == nil {
		err = b.err
	}
	return int64(n), err
}

// Close does nothing: everything was read already.
func (b *Body) Close() error { return nil }

// BodyText is the whole body of a request, with one copy at most if it was read
// already, and whether that was so.
func BodyText(r *http.Request) (text string, ok bool) {
	b, ours := r.Body.(*Body)
	if !ours || b.err != nil {
		return "", false
	}
	if b.lasts {
		text, b.given = unsafe.String(unsafe.SliceData(b.unread), len(b.unread)), true
	} else {
		text = string(b.unread)
	}
	b.unread = nil
	return text, true
}
