package sigv4

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// appendRequest appends the canonical form of a request, whose SHA-256 is signed.
func (s *signature) appendRequest(b []byte, r *http.Request, payload []byte) []byte {
	b = append(b, r.Method...)
	b = append(b, '\n')
	b = appendPath(b, rawPath(r))
	b = append(b, '\n')
	b = appendQuery(b, r.URL.RawQuery, s.query)
	b = append(b, '\n')
	for i, name := range s.signed.names {
		b = append(append(b, name...), ':')
		b = append(appendHeader(b, r, name, s.signed.canonical[i]), '\n')
	}
	b = append(b, '\n')
	b = append(append(b, s.signed.text...), '\n')
	return append(b, payload...)
}

// rawPath returns the path in the request line.
func rawPath(r *http.Request) string {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if strings.HasPrefix(path, "/") {
		return path
	}
	return r.URL.EscapedPath() // of a request line with a whole URL, or *
}

func appendHeader(b []byte, r *http.Request, name, canonical string) []byte {
	if name == "host" {
		return appendValue(b, r.Host)
	}
	values := r.Header[canonical]
	if values == nil && name == "content-length" {
		return strconv.AppendInt(b, r.ContentLength, 10)
	}
	for i, value := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValue(b, value)
	}
	return b
}

// hasHeader reports whether a request has a signed header.
func hasHeader(r *http.Request, name, canonical string) bool {
	return name == "host" || r.Header[canonical] != nil || name == "content-length" && r.ContentLength >= 0
}

// appendPath appends a path without empty and dotted segments, escaped once more.
func appendPath(b []byte, path string) []byte {
	if strings.Contains(path, "//") || strings.Contains(path, "/.") {
		path = withoutDots(path)
	}
	if path == "" {
		return append(b, '/')
	}
	return appendEscaped(b, path, true)
}

// withoutDots removes dot segments, as SDKs do before they sign a path (RFC 3986, 5.2.4).
func withoutDots(path string) string {
	var kept []string
	for segment := range strings.SplitSeq(path, "/") {
		switch segment {
		case "", ".":
		case "..":
			kept = kept[:max(0, len(kept)-1)]
		default:
			kept = append(kept, segment)
		}
	}
	clean := "/" + strings.Join(kept, "/")
	if strings.HasSuffix(path, "/") && len(kept) > 0 {
		clean += "/"
	}
	return clean
}

// appendQuery appends the sorted and escaped parameters, without the signature of a presigned URL.
func appendQuery(b []byte, raw string, presigned bool) []byte {
	if raw == "" {
		return b
	}
	var pairs []string
	for pair := range strings.SplitSeq(raw, "&") {
		name, value, _ := strings.Cut(pair, "=")
		name, value = unescaped(name), unescaped(value)
		if pair == "" || presigned && name == "X-Amz-Signature" {
			continue
		}
		escaped := append(appendEscaped(nil, name, false), '=')
		pairs = append(pairs, string(appendEscaped(escaped, value, false)))
	}
	slices.SortFunc(pairs, func(a, b string) int {
		nameA, valueA, _ := strings.Cut(a, "=")
		nameB, valueB, _ := strings.Cut(b, "=")
		if c := strings.Compare(nameA, nameB); c != 0 {
			return c
		}
		return strings.Compare(valueA, valueB)
	})
	return append(b, strings.Join(pairs, "&")...)
}

// unescaped decodes text of a query string. Malformed text stays as it is: it is signed like that, and
// refused by the parser.
func unescaped(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

// appendEscaped escapes everything but the unreserved characters of RFC 3986.
func appendEscaped(b []byte, text string, slashes bool) []byte {
	const digits = "0123456789ABCDEF"
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			c == '-', c == '.', c == '_', c == '~', slashes && c == '/':
			b = append(b, c)
		default:
			b = append(b, '%', digits[c>>4], digits[c&15])
		}
	}
	return b
}

// appendValue appends a header value, trimmed and with single blanks.
func appendValue(b []byte, value string) []byte {
	value = strings.Trim(value, " \t")
	if !strings.Contains(value, "  ") {
		return append(b, value...)
	}
	for i := range len(value) {
		if value[i] != ' ' || value[i-1] != ' ' {
			b = append(b, value[i])
		}
	}
	return b
}
