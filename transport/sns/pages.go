package sns

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/refusal"
)

// pageMax bounds the elements of one answer of a list (SNS).
const pageMax = 100

// tokenPrefix begins the decoded form of a token, so that text which merely happens to be
// base64 is refused.
const tokenPrefix = "after:"

func pageToken(after string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(tokenPrefix + after))
}

// readToken is the element that a NextToken goes on behind, empty without a token.
func readToken(token string) (after string, err error) {
	if token == "" {
		return "", nil
	}
	raw, failed := base64.RawURLEncoding.DecodeString(token)
	after, ok := strings.CutPrefix(string(raw), tokenPrefix)
	if failed != nil || !ok {
		return "", badToken()
	}
	return after, nil
}

// readNumberToken is readToken for lists by number.
func readNumberToken(token string) (after uint64, err error) {
	text, err := readToken(token)
	if text == "" || err != nil {
		return 0, err
	}
	if after, err = strconv.ParseUint(text, 10, 64); err != nil {
		return 0, badToken()
	}
	return after, nil
}

func badToken() error { return refusal.SNSInvalid("NextToken") }
