package grpcwire

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"golang.org/x/net/http2/hpack"
)

// heads are the headers of requests.
type heads struct {
	address string
	header  func(method string) http.Header // nil: nothing is added to that of each call
	added   map[string]addition             // by method
	encoder *hpack.Encoder                  // to block
	block   bytes.Buffer
	known   map[string][]byte // blocks, by method, that the table knows every field of
}

// addition is what header returned.
type addition struct {
	fields []hpack.HeaderField
	made   time.Time
}

// additionTime is how long one is used again: what it is signed with grows old.
const additionTime = 5 * time.Minute

// encode is the block of headers of a request for a method. Programs have the table of the
// connection remember what they always say, and so does this: what is sent of it after the
// first request is an octet for each field.
func (h *heads) encode(method string) []byte {
	if block := h.known[method]; block != nil {
		return block
	}
	h.block.Reset()
	fields := []hpack.HeaderField{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: "http"},
		{Name: ":path", Value: method},
		{Name: ":authority", Value: h.address},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "te", Value: "trailers"},
	}
	fields = append(fields, h.addition(method)...)
	for _, f := range fields {
		_ = h.encoder.WriteField(f) // a buffer takes it
	}
	// Where no field needs more than its place in the table, nothing new entered that,
	// which would move the others.
	if block := h.block.Bytes(); len(block) == len(fields) {
		h.known[method] = bytes.Clone(block)
	} else {
		clear(h.known)
	}
	return h.block.Bytes()
}

// addition is what header returns for a method, which is asked once in a while.
func (h *heads) addition(method string) []hpack.HeaderField {
	if h.header == nil {
		return nil
	}
	known := h.added[method]
	if time.Since(known.made) < additionTime {
		return known.fields
	}
	known = addition{made: time.Now()}
	for name, values := range h.header(method) {
		known.fields = append(known.fields, hpack.HeaderField{Name: strings.ToLower(name), Value: values[0], Sensitive: true})
	}
	h.added[method] = known
	return known.fields
}
