package aws

import (
	"strconv"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

// Page is one page of a list sorted by name.
type Page struct {
	After string // the last name of the page before
	limit int
	more  bool // the answer has a token for the next page
}

// ReadPage reads the parameters MaxResults and NextToken.
func ReadPage(maxResults awswire.Int, token string) (Page, *queue.Error) {
	p := Page{limit: limits.ListQueuesMax}
	if maxResults.Given {
		if maxResults.Value < 1 || maxResults.Value > limits.ListQueuesMax {
			return Page{}, refusal.InvalidValue(strconv.FormatInt(maxResults.Value, 10), "MaxResults",
				"Must be between 1 and 1000, if provided.")
		}
		// Without MaxResults AWS lists at most 1000 names and no token.
		p.limit, p.more = int(maxResults.Value), true
	}
	after, ok := service.ReadPageToken(token)
	if !ok {
		return Page{}, refusal.InvalidValue(token, "NextToken", "It was not returned by this action.")
	}
	p.After = after
	return p, nil
}

// Limit returns the number of names to read: one more than the page holds, which shows whether a
// next page exists.
func (p Page) Limit() int { return p.limit + 1 }

// QueueURLs turns names, as many as Limit, into URLs and a token.
func (c *Call) QueueURLs(p Page, names []string) (urls []string, token string) {
	if len(names) > p.limit {
		names = names[:p.limit]
		if p.more {
			token = service.PageToken(names[p.limit-1])
		}
	}
	base := c.BaseURL()
	urls = make([]string, len(names))
	for i, name := range names {
		urls[i] = c.Backend.Names.QueueURL(base, name)
	}
	return urls, token
}
