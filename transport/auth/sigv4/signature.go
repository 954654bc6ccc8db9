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

	// keyLengthMax is the longest access key id that IAM gives out.
	keyLengthMax = 128
	// expiresMax is the longest validity of a presigned URL, in seconds: 7 days.
	expiresMax = 7 * 24 * 60 * 60
	// signedHeadersMax is how many headers a signature may cover. SDKs sign ten.
	signedHeadersMax = 64
	// signatureLength is a SHA-256 in hexadecimal digits.
	signatureLength = 64
)

// signature is what a request says of how it was signed.
type signature struct {
	scope
	date    time.Time
	stamp   string        // the date as it was sent, or in the form it is signed in
	expires time.Duration // of a presigned URL, else 0
	signed  []string      // names of headers, lower case, in order
	digits  string        // the signature itself
	// query says that the signature stands in the query string.
	query bool
}

// scope is a credential: key/yyyymmdd/region/service/aws4_request.
type scope struct {
	keyID, day, region, service string
}

// String is the scope without its key, as it is signed.
func (s scope) String() string {
	return s.day + "/" + s.region + "/" + s.service + "/" + termination
}

// clone does not share memory with the request.
func (s scope) clone() scope {
	return scope{strings.Clone(s.keyID), strings.Clone(s.day), strings.Clone(s.region), strings.Clone(s.service)}
}

// readSignature finds the signature of a request. It is nil for a request that has none.
func readSignature(r *http.Request) (*signature, error) {
	if header := r.Header["Authorization"]; len(header) > 0 {
		if len(header) > 1 {
			return nil, incomplete("The request has more than one Authorization header.")
		}
		return readHeader(r, header[0])
	}
	if !strings.Contains(r.URL.RawQuery, "X-Amz-") {
		return nil, nil
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, incomplete("The query string is malformed.")
	}
	if !query.Has("X-Amz-Algorithm") && !query.Has("X-Amz-Credential") && !query.Has("X-Amz-Signature") {
		return nil, nil
	}
	return readQuery(query)
}

// readHeader reads AWS4-HMAC-SHA256 Credential=..., SignedHeaders=..., Signature=...
func readHeader(r *http.Request, header string) (*signature, error) {
	scheme, rest, _ := strings.Cut(header, " ")
	if scheme != algorithm {
		return nil, incomplete("Unsupported signature algorithm; this server wants " + algorithm + ".")
	}
	fields := make(map[string]string, 3)
	for rest != "" {
		var field string
		field, rest, _ = strings.Cut(rest, ",")
		name, value, ok := strings.Cut(strings.Trim(field, " \t"), "=")
		if _, twice := fields[name]; !ok || twice {
			return nil, incomplete("The Authorization header is malformed.")
		}
		fields[name] = value
	}
	for _, name := range []string{"Credential", "SignedHeaders", "Signature"} {
		if fields[name] == "" {
			return nil, incomplete("Authorization header requires '" + name + "' parameter.")
		}
	}
	s := &signature{}
	if err := s.read(fields["Credential"], fields["SignedHeaders"], fields["Signature"]); err != nil {
		return nil, err
	}
	return s, s.readDate(r.Header)
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
func readQuery(query url.Values) (*signature, error) {
	for _, name := range []string{"X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Signature", "X-Amz-SignedHeaders", "X-Amz-Date", "X-Amz-Expires"} {
		if values := query[name]; len(values) != 1 || values[0] == "" {
			return nil, incomplete("AWS query-string parameters must include '" + name + "' once.")
		}
	}
	if query.Get("X-Amz-Algorithm") != algorithm {
		return nil, incomplete("Unsupported signature algorithm; this server wants " + algorithm + ".")
	}
	s := &signature{query: true, stamp: query.Get("X-Amz-Date")}
	if err := s.read(query.Get("X-Amz-Credential"), query.Get("X-Amz-SignedHeaders"), query.Get("X-Amz-Signature")); err != nil {
		return nil, err
	}
	seconds, err := strconv.ParseUint(query.Get("X-Amz-Expires"), 10, 32)
	if err != nil || seconds == 0 || seconds > expiresMax {
		return nil, incomplete("X-Amz-Expires must be a number of seconds from 1 to 604800.")
	}
	s.expires = time.Duration(seconds) * time.Second
	if s.date, err = time.Parse(dateFormat, s.stamp); err != nil {
		return nil, incomplete("X-Amz-Date must be in ISO-8601 'basic format'.")
	}
	return s, s.checkDay()
}

// read takes what both forms have in common.
func (s *signature) read(credential, signed, digits string) error {
	parts := strings.Split(credential, "/")
	if len(parts) != 5 || parts[4] != termination {
		return incomplete("Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/" + termination + ".")
	}
	s.scope = scope{keyID: parts[0], day: parts[1], region: parts[2], service: parts[3]}
	if !plainKey(s.keyID) || s.region == "" || s.service == "" {
		return incomplete("Credential must name a key, a region and a service.")
	}
	s.signed = strings.Split(signed, ";")
	if len(s.signed) > signedHeadersMax {
		return incomplete("SignedHeaders names too many headers.")
	}
	for i, name := range s.signed {
		if name == "" || name != strings.ToLower(name) || i > 0 && name <= s.signed[i-1] {
			return incomplete("SignedHeaders must name headers in lower case, each once, in order.")
		}
	}
	s.digits = digits
	return nil
}

func (s *signature) checkDay() error {
	if s.day != s.stamp[:len("yyyymmdd")] {
		return mismatch("Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '" + s.stamp[:len("yyyymmdd")] + "'.")
	}
	return nil
}

// plainKey reports whether an access key id has only the characters of one.
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
