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

// headerBlock is a block of headers as a client sent it. There is one for each connection,
// which is read into again and again: the library's own reading makes a dozen objects for
// each request. Used by the goroutine that reads.
type headerBlock struct {
	stream    uint32
	ended     bool // no body follows
	fields    []hpack.HeaderField
	pseudo    int   // how many of them are, which come first
	truncated bool  // there are more, too large to be kept
	left      int   // bytes of fields that may still come
	invalid   error // no request has such fields
	decoder   *hpack.Decoder
	// known is the block itself if the table had every field of it, so that the same
	// means the same until another one changes the table; empty if not.
	known []byte
}

func newHeaderBlock() *headerBlock {
	b := &headerBlock{}
	b.decoder = hpack.NewDecoder(4096, b.add)
	b.decoder.SetMaxStringLength(limits.HeaderBytesMax)
	return b
}

// knownMax bounds the fields of a header block that is kept as known.
const knownMax = 32

// know keeps a block that was read if every octet of it is one field in the table
// (RFC 7541, 6.1): programs say the same in each request.
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

// forget lets go of texts that only the last request had: thousands of connections wait for
// their next one.
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
	errFieldValue  = errors.New("a value that no header has")
	errFieldName   = errors.New("a name that no header has")
	errPseudoField = errors.New("a pseudo-header that no request has there")
)

// add takes a field. What it does not like ends the taking, but not the decoding, on which
// the table of the connection depends.
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

// validName reports whether HTTP/2 has such names, which are small.
func validName(name string) bool {
	return httpguts.ValidHeaderFieldName(name) && !strings.ContainsFunc(name, func(r rune) bool { return 'A' <= r && r <= 'Z' })
}

// readHeaders reads a block that begins with part, with the frames in which it goes on
// unless that is the whole.
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
		// What goes on after too much was said, or nonsense, is not worth decoding.
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
		if !ok { // the framer sees to that
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
