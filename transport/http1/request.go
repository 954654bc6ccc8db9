package http1

import (
	"bytes"
	"net/http"
	"net/textproto"
	"strings"

	"github.com/seriatimq/seriatim/transport/limits"
)

var headerEnd = []byte("\r\n\r\n")

// endOfHeader returns the length of the header in b, 0 if b does not hold its end. An earlier call
// has checked the bytes before searched.
func endOfHeader(b []byte, searched int) int {
	from := max(0, searched-len(headerEnd)+1)
	if i := bytes.Index(b[from:], headerEnd); i >= 0 {
		return from + i + len(headerEnd)
	}
	return 0
}

const (
	postLine    = "POST /"
	versionLine = " HTTP/1.1"
)

// mayBePost reports whether b may begin a header that parse accepts. An earlier call
// has checked the bytes before searched.
func mayBePost(b []byte, searched int) bool {
	n := min(len(b), len(postLine))
	return string(b[:n]) == postLine[:n] && !bareLineFeed(b, searched)
}

// bareLineFeed reports whether a line of b ends without a carriage return. net/http accepts such
// an end, so the header may end before headerEnd.
func bareLineFeed(b []byte, searched int) bool {
	for i := searched; i < len(b); i++ {
		next := bytes.IndexByte(b[i:], '\n')
		if next < 0 {
			return false
		}
		if i += next; i == 0 || b[i-1] != '\r' {
			return true
		}
	}
	return false
}

// headersMax bounds the headers of a plain request; SDKs send a dozen. The map that holds them
// serves all requests of a connection, and never shrinks.
const headersMax = 64

// parse parses a header into c.request, which is empty. It reports false for all but the plain
// case: other methods, a query, a body without a length, Expect, Upgrade, malformed and ambiguous
// headers. net/http serves or refuses those.
func (c *conn) parse(header []byte) (length int, ours bool) {
	if len(header) > limits.HeaderBytesMax {
		return 0, false
	}
	text := string(header[:len(header)-len("\r\n")])
	line, lines, _ := strings.Cut(text, "\r\n")
	target, ok := strings.CutSuffix(line, versionLine)
	if !ok || !strings.HasPrefix(target, postLine) {
		return 0, false
	}
	path := target[len(postLine)-1:]
	if !PlainPath(path) {
		return 0, false
	}
	r := c.request
	if r.Header == nil {
		r.Header = make(http.Header)
	}
	length = -1
	for count := 0; lines != ""; count++ {
		if count == headersMax {
			return 0, false
		}
		if line, lines, ok = strings.Cut(lines, "\r\n"); !ok {
			return 0, false
		}
		name, value, ok := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		if !ok || !isToken(name) || !plainText(value) {
			return 0, false
		}
		name = CanonicalName(name)
		switch name {
		case "Host":
			if r.Host != "" || !plainHost(value) {
				return 0, false
			}
			r.Host = value
			continue // as in net/http, the header has no Host
		case "Content-Length":
			if length >= 0 {
				return 0, false
			}
			if length, ok = plainLength(value); !ok {
				return 0, false
			}
		case "Connection":
			if !strings.EqualFold(value, "keep-alive") {
				return 0, false
			}
		case "Transfer-Encoding", "Expect", "Upgrade", "Trailer", "Http2-Settings", "Pragma":
			return 0, false // net/http turns Pragma into Cache-Control
		}
		c.add(name, value)
	}
	if r.Host == "" || length < 0 {
		return 0, false
	}
	r.ContentLength, r.RequestURI, c.url.Path = int64(length), path, path
	r.Method, r.Body = http.MethodPost, &c.body
	return length, true
}

// add adds a header. The values of all headers share one array.
func (c *conn) add(name, value string) {
	if before := c.request.Header[name]; before != nil {
		c.request.Header[name] = append(before, value)
		return
	}
	i := len(c.values)
	c.values = append(c.values, value)
	c.request.Header[name] = c.values[i : i+1 : i+1]
}

// canonicalNames has the headers of SDKs and gRPC, also in lower case.
var canonicalNames = func() map[string]string {
	names := make(map[string]string)
	for _, name := range []string{
		"Accept", "Accept-Encoding", "Accept-Language", "Amz-Sdk-Invocation-Id", "Amz-Sdk-Request", "Authorization",
		"Connection", "Content-Length", "Content-Type", "Grpc-Accept-Encoding", "Grpc-Encoding", "Grpc-Timeout", "Host", "Origin", "Te",
		"Traceparent", "User-Agent", "X-Amz-Content-Sha256", "X-Amz-Date", "X-Amz-Security-Token", "X-Amz-Target", "X-Amz-User-Agent",
		"X-Amzn-Query-Mode", "X-Amzn-Trace-Id",
	} {
		names[name], names[strings.ToLower(name)] = name, name
	}
	return names
}()

// CanonicalName returns the canonical form of the name of a header, as net/http does.
func CanonicalName(name string) string {
	if known, ok := canonicalNames[name]; ok {
		return known
	}
	return textproto.CanonicalMIMEHeaderKey(name)
}

func letterOrDigit(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// PlainPath reports whether a target is a path without escapes and query. A target that begins with
// two slashes could name another host.
func PlainPath(path string) bool {
	for i := range len(path) {
		if c := path[i]; !letterOrDigit(c) && c != '/' && c != '.' && c != '-' && c != '_' {
			return false
		}
	}
	return path[0] == '/' && !strings.HasPrefix(path, "//")
}

func plainHost(host string) bool {
	for i := range len(host) {
		if c := host[i]; !letterOrDigit(c) && c != '.' && c != '-' && c != '_' && c != ':' && c != '[' && c != ']' {
			return false
		}
	}
	return host != ""
}

// isToken reports whether the name of a header has only letters, digits, - and _. RFC 9110
// permits more, which net/http checks.
func isToken(name string) bool {
	for i := range len(name) {
		if c := name[i]; !letterOrDigit(c) && c != '-' && c != '_' {
			return false
		}
	}
	return name != ""
}

// plainText reports whether the value of a header has no control characters except tabs.
func plainText(value string) bool {
	for i := range len(value) {
		if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// plainLength parses a Content-Length up to limits.BodyBytesMax.
func plainLength(value string) (int, bool) {
	if value == "" || len(value) > 8 {
		return 0, false
	}
	n := 0
	for i := range len(value) {
		if value[i] < '0' || value[i] > '9' {
			return 0, false
		}
		n = 10*n + int(value[i]-'0')
	}
	return n, n <= limits.BodyBytesMax
}
