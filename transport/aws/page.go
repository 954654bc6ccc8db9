package aws

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/awswire"
)

// Page is one step through a list sorted by name.
type Page struct {
	After string // the last name of the page before
	limit int
	more  bool // a token for the next page is wanted
}

// tokenPrefix begins the decoded form of a token, so that text which merely
// happens to be base64 is refused.
const tokenPrefix = "after:"

// ReadPage reads the parameters MaxResults and NextToken.
func ReadPage(maxResults awswire.Int, token string) (Page, *queue.Error) {
	p := Page{limit: limits.ListQueuesMax}
	if maxResults.Given {
		if maxResults.Value < 1 || maxResults.Value > limits.ListQueuesMax {
			return Page{}, refusal.InvalidValue(strconv.FormatInt(maxResults.Value, 10), "MaxResults", "Must be between 1 and 1000, if provided.")
		}
		// Without MaxResults AWS lists at most 1000 names and no token.
		p.limit, p.more = int(maxResults.Value), true
	}
	if token == "" {
		return p, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	after, ok := strings.CutPrefix(string(raw), tokenPrefix)
	if err != nil || !ok {
		return Page{}, refusal.InvalidValue(token, "NextToken", "It was not returned by this action.")
	}
	p.After = after
	return p, nil
}

// Limit returns the number of names to ask for: one more than the page holds, to find out whether a
// next page exists.
func (p Page) Limit() int { return p.limit + 1 }

// QueueURLs turns names, as many as Limit, into URLs and a token.
func (c *Call) QueueURLs(p Page, names []string) (urls []string, token string) {
	if len(names) > p.limit {
		names = names[:p.limit]
		if p.more {
			token = base64.RawURLEncoding.EncodeToString([]byte(tokenPrefix + names[p.limit-1]))
		}
	}
	base := c.BaseURL()
	urls = make([]string, len(names))
	for i, name := range names {
		urls[i] = c.Backend.Names.QueueURL(base, name)
	}
	return urls, token
}
