package service

import (
	"encoding/base64"
	"strings"
)

// tokenPrefix begins the decoded form of a page token, so that other base64 text is refused.
const tokenPrefix = "after:"

// PageToken returns the token of the page behind an element.
func PageToken(after string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(tokenPrefix + after))
}

// ReadPageToken returns the element that a token names, empty without a token.
func ReadPageToken(token string) (after string, ok bool) {
	if token == "" {
		return "", true
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	after, ok = strings.CutPrefix(string(raw), tokenPrefix)
	return after, ok && err == nil
}
