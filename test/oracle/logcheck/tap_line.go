package logcheck

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// parseLine reads a line of a tap. Taps have gigabytes of lines in one form, which is parsed ten
// times as fast as general JSON. Lines of another form are parsed as JSON.
func parseLine(text []byte) (l line, err error) {
	if l, ok := parseUsual(text); ok {
		return l, nil
	}
	l = line{}
	if err := json.Unmarshal(text, &l); err != nil {
		return l, fmt.Errorf("a line of a tap: %w", err)
	}
	return l, nil
}

// parseUsual parses a line of the form that nodes write, and reports whether it has this form.
func parseUsual(text []byte) (l line, ok bool) {
	f := fields{rest: bytes.TrimSuffix(text, []byte("\n")), ok: true}
	l.Index = f.number(`{"index":`)
	l.N = int(f.number(`,"n":`))
	l.Term = f.number(`,"term":`)
	l.AtMs = int64(f.number(`,"atMs":`))
	l.Op = string(f.text(`,"op":"`))
	l.Command = f.bytes(`,"command":"`)
	l.Answer = f.bytes(`,"answer":"`)
	crc := f.number(`,"crc":`)
	l.CRC = uint32(crc)
	l.Hash = string(f.optional(`,"hash":"`))
	l.Kind = string(f.optional(`,"kind":"`))
	return l, f.ok && crc <= math.MaxUint32 && utf8.Valid(text) && string(f.rest) == "}"
}

// unusual are the characters that JSON escapes, and the backslash.
const unusual = "\\\x00\x01\x02\x03\x04\x05\x06\x07\b\t\n\v\f\r\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f"

// fields is the unparsed rest of a line.
type fields struct {
	rest []byte
	ok   bool // the line has had the usual form so far
}

// number parses a number without a sign after a name.
func (f *fields) number(name string) uint64 {
	rest, found := bytes.CutPrefix(f.rest, []byte(name))
	end := 0
	for end < len(rest) && '0' <= rest[end] && rest[end] <= '9' {
		end++
	}
	n, err := strconv.ParseUint(string(rest[:end]), 10, 63)
	f.ok = f.ok && found && err == nil && (end == 1 || rest[0] != '0')
	f.rest = rest[end:]
	return n
}

// text parses a string without escapes after a name and its opening quotation mark.
func (f *fields) text(name string) []byte {
	rest, found := bytes.CutPrefix(f.rest, []byte(name))
	end := bytes.IndexByte(rest, '"')
	if !found || end < 0 || bytes.ContainsAny(rest[:end], unusual) {
		f.ok = false
		return nil
	}
	f.rest = rest[end+1:]
	return rest[:end]
}

// optional is text that may be missing.
func (f *fields) optional(name string) []byte {
	if !bytes.HasPrefix(f.rest, []byte(name)) {
		return nil
	}
	return f.text(name)
}

// bytes is optional text in base64.
func (f *fields) bytes(name string) []byte {
	text := f.optional(name)
	if text == nil {
		return nil
	}
	out, err := base64.StdEncoding.AppendDecode(make([]byte, 0, base64.StdEncoding.DecodedLen(len(text))), text)
	f.ok = f.ok && err == nil
	return out
}
