package httpwire

import "bytes"

// TextValues appends the values of all members with this name, in order. It
// scans instead of parsing: a quote inside a JSON text is escaped, so the name
// in quotes with a colon behind it can only be a member. Values with escapes,
// which no body of the generator and no handle or id of a server needs, are not
// unescaped.
func TextValues(dst [][]byte, answer []byte, name string) [][]byte {
	for len(answer) > 0 {
		i := bytes.IndexByte(answer, '"')
		if i < 0 {
			return dst
		}
		token := textEnd(answer[i+1:])
		if token < 0 {
			return dst
		}
		found := string(answer[i+1:i+1+token]) == name
		answer = answer[i+token+2:]
		rest := bytes.TrimLeft(answer, " \t\r\n")
		if len(rest) == 0 || rest[0] != ':' {
			continue
		}
		rest = bytes.TrimLeft(rest[1:], " \t\r\n")
		if len(rest) == 0 || rest[0] != '"' {
			answer = rest
			continue
		}
		end := textEnd(rest[1:])
		if end < 0 {
			return dst
		}
		if found {
			dst = append(dst, rest[1:1+end])
		}
		answer = rest[end+2:]
	}
	return dst
}

// textEnd is where a JSON text that begins before b ends, -1 if it does not.
func textEnd(b []byte) int {
	for from := 0; ; {
		i := bytes.IndexByte(b[from:], '"')
		if i < 0 {
			return -1
		}
		end := from + i
		slashes := 0
		for end-slashes > 0 && b[end-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return end
		}
		from = end + 1
	}
}
