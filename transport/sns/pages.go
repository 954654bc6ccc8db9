package sns

import (
	"strconv"

	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/service"
)

// pageMax bounds the elements of one answer of a list (SNS).
const pageMax = 100

// readToken returns the element that a NextToken names, empty without a token.
func readToken(token string) (after string, err error) {
	after, ok := service.ReadPageToken(token)
	if !ok {
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
