package http2

import (
	"bytes"
	"errors"
	"strings"

	"golang.org/x/net/http/httpguts"
	frame "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/seriatimq/seriatim/transport/limits"
)

// headerBlock is a decoded block of headers. Each connection reuses one, because the library
// allocates a dozen objects for each request. Used by the reading goroutine.
type headerBlock struct {
	stream    uint32
	ended     bool // no body follows
	fields    []hpack.HeaderField
	pseudo    int   // number of pseudo-headers, which come first
	truncated bool  // further fields were too large
	left      int   // bytes of fields that may still come
	invalid   error // a field is invalid
	decoder   *hpack.Decoder
	// known is the encoded block if it refers to the table only: an equal block has the same
	// fields until another one changes the table. Otherwise it is empty.
	known []byte
}

func newHeaderBlock() *headerBlock {
	b := &headerBlock{}
	b.decoder = hpack.NewDecoder(4096, b.add)
	b.decoder.SetMaxStringLength(limits.HeaderBytesMax)
	return b
}

// knownMax bounds the fields of a known block.
const knownMax = 32

// know keeps an encoded block if each octet is an indexed field (RFC 7541, 6.1): programs repeat
// their headers in each request.
func (b *headerBlock) know(block []byte) {
	b.known = b.known[:0]
	if len(block) > knownMax || b.truncated {
		return
	}
	for _, octet := range block {
		if octet <= 0x80 || octet == 0xff {
			return
		}
	}
	b.known = append(b.known, block...)
}

// forget releases the fields of the last request: thousands of connections may be idle.
func (b *headerBlock) forget() {
	if len(b.known) > 0 {
		return
	}
	clear(b.fields)
	if b.fields = b.fields[:0]; cap(b.fields) > knownMax {
		b.fields = nil
	}
}

var (
	errFieldValue  = errors.New("invalid value of a header")
	errFieldName   = errors.New("invalid name of a header")
	errPseudoField = errors.New("invalid pseudo-header")
)

// add adds a field. After an invalid field the decoder continues, because the table of the
// connection depends on it, but add is called no more.
func (b *headerBlock) add(f hpack.HeaderField) {
	size := int(f.Size())
	switch {
	case !httpguts.ValidHeaderFieldValue(f.Value):
		b.invalid = errFieldValue
	case f.IsPseudo():
		if b.pseudo++; !knownPseudo(f.Name) || b.pseudo <= len(b.fields) || b.has(f.Name) {
			b.invalid = errPseudoField
		}
	case !validName(f.Name):
		b.invalid = errFieldName
	}
	if b.truncated = b.invalid == nil && size > b.left; b.truncated || b.invalid != nil {
		b.left = 0
		b.decoder.SetEmitEnabled(false)
		return
	}
	b.left -= size
	b.fields = append(b.fields, f)
}

func (b *headerBlock) has(name string) bool {
	for i := range b.fields {
		if b.fields[i].Name == name {
			return true
		}
	}
	return false
}

func knownPseudo(name string) bool {
	switch name {
	case ":method", ":path", ":scheme", ":authority", ":protocol":
		return true
	}
	return false
}

// validName reports whether a name is valid in HTTP/2, which is in lower case.
func validName(name string) bool {
	return httpguts.ValidHeaderFieldName(name) && !strings.ContainsFunc(name, func(r rune) bool { return 'A' <= r && r <= 'Z' })
}

// readHeaders decodes a block that begins with part. It reads the continuation frames unless part is
// the whole block.
func (c *conn) readHeaders(stream uint32, ended bool, part []byte, whole bool) error {
	b := c.block
	b.stream, b.ended = stream, ended
	if whole && len(b.known) > 0 && bytes.Equal(part, b.known) {
		return nil
	}
	b.known = b.known[:0]
	b.forget()
	b.pseudo, b.truncated, b.left, b.invalid = 0, false, limits.HeaderBytesMax, nil
	b.decoder.SetEmitEnabled(true)
	for one := true; ; one = false {
		// After too many bytes or an invalid field, the rest is not decoded.
		if len(part) > 2*b.left || b.invalid != nil {
			return frame.ConnectionError(frame.ErrCodeProtocol)
		}
		if _, err := b.decoder.Write(part); err != nil {
			return frame.ConnectionError(frame.ErrCodeCompression)
		}
		if whole && one {
			b.know(part)
		}
		if whole {
			break
		}
		next, err := c.framer.ReadFrame()
		if err != nil {
			return err
		}
		more, ok := next.(*frame.ContinuationFrame)
		if !ok { // the framer prevents this
			return frame.ConnectionError(frame.ErrCodeProtocol)
		}
		part, whole = more.HeaderBlockFragment(), more.HeadersEnded()
	}
	if b.decoder.Close() != nil {
		return frame.ConnectionError(frame.ErrCodeCompression)
	}
	if b.invalid != nil {
		b.known = b.known[:0]
		return frame.StreamError{StreamID: b.stream, Code: frame.ErrCodeProtocol, Cause: b.invalid}
	}
	return nil
}
