package http1

import (
	"io"
	"net/http"
	"unsafe"
)

// Body is a request body that was read before the handler is called. Used by one goroutine.
type Body struct {
	unread []byte
	err    error // what follows unread; nil: io.EOF
	lasts  bool  // its memory is not reused, so BodyText need not copy
	given  bool  // BodyText has returned its memory
}

// NewBody returns a body of bytes that were read; err is set if it is incomplete.
func NewBody(read []byte, err error) *Body { return &Body{unread: read, err: err} }

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

func (b *Body) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(b.unread)
	b.unread = b.unread[n:]
	if err == nil {
		err = b.err
	}
	return int64(n), err
}

// Close does nothing.
func (b *Body) Close() error { return nil }

// BodyText returns the body of a request, copied at most once. ok is false if the body was not read
// completely before the handler.
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
