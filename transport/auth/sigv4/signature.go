package sigv4

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	algorithm   = "AWS4-HMAC-SHA256"
	dateFormat  = "20060102T150405Z"
	termination = "aws4_request"

	// keyLengthMax is the longest access key id of IAM.
	keyLengthMax = 128
	// expiresMax is the longest validity of a presigned URL, in seconds: 7 days.
	expiresMax = 7 * 24 * 60 * 60
	// signedHeadersMax bounds the headers of a signature. SDKs sign ten.
	signedHeadersMax = 64
	// signatureLength is a SHA-256 in hexadecimal digits.
	signatureLength = 64
)

// signature is the signature of a request.
type signature struct {
	scope   scope
	date    time.Time
	stamp   string        // the date, as sent or in the signed form
	expires time.Duration // of a presigned URL, else 0
	signed  *headerList
	digits  string // the signature itself
	// query marks a presigned URL.
	query bool
}

// scope is a credential: key/yyyymmdd/region/service/aws4_request.
type scope struct {
	keyID, day, region, service string
}

// String returns the scope without its key, which is signed.
func (s scope) String() string { return string(s.appendTo(nil)) }

func (s scope) appendTo(b []byte) []byte {
	b = append(append(b, s.day...), '/')
	b = append(append(b, s.region...), '/')
	b = append(append(b, s.service...), '/')
	return append(b, termination...)
}

// clone returns a copy that shares no memory with the request.
func (s scope) clone() scope {
	return scope{strings.Clone(s.keyID), strings.Clone(s.day), strings.Clone(s.region), strings.Clone(s.service)}
}

// read reads the signature of a request, and reports whether it has one.
func (s *signature) read(r *http.Request, lists *headerLists) (found bool, err error) {
	if header := r.Header["Authorization"]; len(header) > 0 {
		if len(header) > 1 {
			return true, incomplete("The request has more than one Authorization header.")
		}
		return true, s.readHeader(r, header[0], lists)
	}
	if !strings.Contains(r.URL.RawQuery, "X-Amz-") {
		return false, nil
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return true, incomplete("The query string is malformed.")
	}
	if !query.Has("X-Amz-Algorithm") && !query.Has("X-Amz-Credential") && !query.Has("X-Amz-Signature") {
		return false, nil
	}
	return true, s.readQuery(query, lists)
}

// readHeader reads AWS4-HMAC-SHA256 Credential=..., SignedHeaders=..., Signature=...
func (s *signature) readHeader(r *http.Request, header string, lists *headerLists) error {
	scheme, rest, _ := strings.Cut(header, " ")
	if scheme != algorithm {
		return incomplete("Unsupported signature algorithm; this server wants " + algorithm + ".")
	}
	var credential, signed, digits string
	for rest != "" {
		var field string
		field, rest, _ = strings.Cut(rest, ",")
		name, value, ok := strings.Cut(strings.Trim(field, " \t"), "=")
		var other string
		to := &other
		switch name {
		case "Credential":
			to = &credential
		case "SignedHeaders":
			to = &signed
		case "Signature":
			to = &digits
		}
		if !ok || *to != "" {
			return incomplete("The Authorization header is malformed.")
		}
		*to = value
	}
	switch "" {
	case credential:
		return requiresParameter("Credential")
	case signed:
		return requiresParameter("SignedHeaders")
	case digits:
		return requiresParameter("Signature")
	}
	if err := s.readParts(credential, signed, digits, lists); err != nil {
		return err
	}
	return s.readDate(r.Header)
}

func requiresParameter(name string) error {
	return incomplete("Authorization header requires '" + name + "' parameter.")
}

// readDate reads the header X-Amz-Date, or else Date.
func (s *signature) readDate(header http.Header) (err error) {
	if dates := header["X-Amz-Date"]; len(dates) > 0 {
		s.stamp = dates[0]
		s.date, err = time.Parse(dateFormat, s.stamp)
	} else if dates = header["Date"]; len(dates) > 0 {
		s.date, err = http.ParseTime(dates[0])
		s.stamp = s.date.UTC().Format(dateFormat)
	} else {
		return incomplete("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.")
	}
	if err != nil {
		return incomplete("Date must be in ISO-8601 'basic format'.")
	}
	return s.checkDay()
}

// readQuery reads the signature of a presigned URL.
func (s *signature) readQuery(query url.Values, lists *headerLists) error {
	for _, name := range []string{"X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Signature", "X-Amz-SignedHeaders", "X-Amz-Date",
		"X-Amz-Expires"} {
		if values := query[name]; len(values) != 1 || values[0] == "" {
			return incomplete("AWS query-string parameters must include '" + name + "' once.")
		}
	}
	if query.Get("X-Amz-Algorithm") != algorithm {
		return incomplete("Unsupported signature algorithm; this server wants " + algorithm + ".")
	}
	s.query, s.stamp = true, query.Get("X-Amz-Date")
	if err := s.readParts(query.Get("X-Amz-Credential"), query.Get("X-Amz-SignedHeaders"), query.Get("X-Amz-Signature"),
		lists); err != nil {
		return err
	}
	seconds, err := strconv.ParseUint(query.Get("X-Amz-Expires"), 10, 32)
	if err != nil || seconds == 0 || seconds > expiresMax {
		return incomplete("X-Amz-Expires must be a number of seconds from 1 to 604800.")
	}
	s.expires = time.Duration(seconds) * time.Second
	if s.date, err = time.Parse(dateFormat, s.stamp); err != nil {
		return incomplete("X-Amz-Date must be in ISO-8601 'basic format'.")
	}
	return s.checkDay()
}

// readParts reads the common parts of both forms.
func (s *signature) readParts(credential, signed, digits string, lists *headerLists) (err error) {
	var end string
	s.scope.keyID, end, _ = strings.Cut(credential, "/")
	s.scope.day, end, _ = strings.Cut(end, "/")
	s.scope.region, end, _ = strings.Cut(end, "/")
	if s.scope.service, end, _ = strings.Cut(end, "/"); end != termination {
		return incomplete("Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/" + termination + ".")
	}
	if !plainKey(s.scope.keyID) || s.scope.region == "" || s.scope.service == "" {
		return incomplete("Credential must name a key, a region and a service.")
	}
	s.signed, err = lists.read(signed)
	s.digits = digits
	return err
}

func (s *signature) checkDay() error {
	if s.scope.day != s.stamp[:len("yyyymmdd")] {
		return mismatch("Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '" +
			s.stamp[:len("yyyymmdd")] + "'.")
	}
	return nil
}

// plainKey reports whether text has only the characters of access key ids.
func plainKey(id string) bool {
	if id == "" || len(id) > keyLengthMax {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
