package sas

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Scheme begins the text of every token.
const Scheme = "SharedAccessSignature"

// textLengthMax bounds the text of a token. The SDKs send less than 1 KiB.
const textLengthMax = 4096

// Token is the content of a shared access signature. The zero Token is that of a caller without one, and
// covers everything.
type Token struct {
	Audience string // URI of a namespace or an entity
	KeyName  string // id of an access key
	Expires  time.Time

	signed    string // the text under the signature
	signature []byte
}

// parse reads the text of a token, without a look at its signature.
func parse(text string) (t Token, ok bool) {
	if len(text) > textLengthMax || !Is(text) {
		return Token{}, false
	}
	var fields struct{ audience, signature, expiry, name string }
	for field := range strings.SplitSeq(strings.TrimSpace(text[len(Scheme):]), "&") {
		name, value, _ := strings.Cut(field, "=")
		ok = true
		switch name {
		case "sr":
			ok = put(&fields.audience, value)
		case "sig":
			ok = put(&fields.signature, value)
		case "se":
			ok = put(&fields.expiry, value)
		case "skn":
			ok = put(&fields.name, value)
		}
		if !ok {
			return Token{}, false
		}
	}
	seconds, err := strconv.ParseInt(fields.expiry, 10, 64)
	if err != nil || seconds < 0 {
		return Token{}, false
	}
	t = Token{Expires: time.Unix(seconds, 0), signed: fields.audience + "\n" + fields.expiry}
	signature, good := unescape(fields.signature)
	if t.signature, err = base64.StdEncoding.DecodeString(signature); err != nil || !good || len(t.signature) == 0 {
		return Token{}, false
	}
	if t.Audience, good = unescape(fields.audience); !good || t.Audience == "" {
		return Token{}, false
	}
	t.KeyName, good = unescape(fields.name)
	return t, good && t.KeyName != ""
}

// Is reports whether a text has the scheme of a token.
func Is(text string) bool {
	return len(text) > len(Scheme) && strings.EqualFold(text[:len(Scheme)], Scheme) && text[len(Scheme)] == ' '
}

// put sets a field that occurs once.
func put(field *string, value string) bool {
	if *field != "" || value == "" {
		return false
	}
	*field = value
	return true
}

// unescape decodes a value. The signature may hold a bare plus sign, so that it never means a blank.
func unescape(value string) (string, bool) {
	text, err := url.PathUnescape(value)
	return text, err == nil
}

// Covers reports whether the audience of the token is the namespace, the entity with a path, or an
// entity that the path begins with. Letter case does not count.
func (t *Token) Covers(path string) bool {
	covered, path := strings.Trim(pathOf(t.Audience), "/"), strings.Trim(path, "/")
	if len(path) < len(covered) || !strings.EqualFold(path[:len(covered)], covered) {
		return false
	}
	return covered == "" || len(path) == len(covered) || path[len(covered)] == '/'
}

// pathOf returns the path of a URI such as sb://host:5671/orders.
func pathOf(uri string) string {
	if _, rest, ok := strings.Cut(uri, "://"); ok {
		uri = rest
	}
	_, path, _ := strings.Cut(uri, "/")
	path, _, _ = strings.Cut(path, "?")
	return path
}

// Sign returns the text of a token for an audience, which ends at a time.
func Sign(audience, keyName, secret string, expires time.Time) string {
	escaped, expiry := escape(audience), strconv.FormatInt(expires.Unix(), 10)
	digest := base64.StdEncoding.EncodeToString(sign(escaped+"\n"+expiry, secret))
	return Scheme + " sr=" + escaped + "&sig=" + escape(digest) + "&se=" + expiry + "&skn=" + escape(keyName)
}

// escape encodes a value so that unescape returns it.
func escape(value string) string { return strings.ReplaceAll(url.QueryEscape(value), "+", "%20") }

func sign(text, secret string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
