package grpcwire

import (
	"errors"
	"strconv"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
)

const (
	// tableBytes is the size of the table that nobody has asked to be another.
	tableBytes = 4096
	// fieldBytesMax bounds a block of headers.
	fieldBytesMax = 1 << 20
)

// headers takes a part of what says how a call ended, or that an answer begins.
func (l *link) headers(stream uint32, part []byte, whole bool) error {
	if len(l.fields)+len(part) > fieldBytesMax {
		return errors.New("endless headers")
	}
	if len(l.fields) > 0 || !whole {
		l.fields = append(l.fields, part...)
		part = l.fields
	}
	if !whole {
		return nil
	}
	l.fields = l.fields[:0]
	l.about = l.find(stream)
	if !eachPlain(part, l.plainField) {
		l.table.SetEmitEnabled(l.about != nil)
		if _, err := l.table.Write(part); err != nil {
			return err
		}
		if err := l.table.Close(); err != nil {
			return err
		}
	}
	if l.about != nil && l.last {
		l.end(l.about)
	}
	return nil
}

// field takes a header.
func (l *link) field(f hpack.HeaderField) { l.plainField([]byte(f.Name), []byte(f.Value)) }

func (l *link) plainField(name, value []byte) {
	c := l.about
	if c == nil {
		return
	}
	switch string(name) {
	case ":status":
		if string(value) != "200" {
			c.status, c.message = codes.Unavailable, "HTTP "+string(value)
		}
	case "grpc-status":
		code, err := strconv.ParseUint(string(value), 10, 8)
		if err != nil {
			code = uint64(codes.Unknown)
		}
		c.status = codes.Code(code)
	case "grpc-message":
		c.message = string(value)
	}
}

// Of HPACK (RFC 7541), what servers write that use no table and do not compress.
const (
	statusOK    = 0x88 // :status 200
	literalName = 0x00 // a header that no table remembers, with its name
	lengthMax   = 127  // from which on a length has another byte, and beyond which are compressed texts
)

var statusName, statusValue = []byte(":status"), []byte("200")

// eachPlain calls f for each header of a block that consists of those alone, which change
// nothing in the table. It reports false if there are others; then f may have been
// called for some.
func eachPlain(block []byte, f func(name, value []byte)) bool {
	for len(block) > 0 {
		kind := block[0]
		block = block[1:]
		switch kind {
		case statusOK:
			f(statusName, statusValue)
		case literalName:
			var texts [2][]byte
			for i := range texts {
				if len(block) == 0 || block[0] >= lengthMax || int(block[0]) >= len(block) {
					return false
				}
				n := int(block[0])
				texts[i], block = block[1:1+n], block[1+n:]
			}
			f(texts[0], texts[1])
		default:
			return false
		}
	}
	return true
}
