package sqs

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/awswire"
)

type listQueuesInput struct {
	Prefix     string
	MaxResults awswire.Int
	NextToken  string
}

var listQueuesInputSchema = awswire.Structure(
	awswire.String("QueueNamePrefix", func(v *listQueuesInput) *string { return &v.Prefix }),
	awswire.Integer("MaxResults", func(v *listQueuesInput) *awswire.Int { return &v.MaxResults }),
	awswire.String("NextToken", func(v *listQueuesInput) *string { return &v.NextToken }),
)

type listQueuesOutput struct {
	QueueURLs []string
	NextToken string
}

var listQueuesOutputSchema = awswire.Structure(
	awswire.Strings("QueueUrls", "QueueUrl", func(v *listQueuesOutput) *[]string { return &v.QueueURLs }),
	awswire.String("NextToken", func(v *listQueuesOutput) *string { return &v.NextToken }),
)

// listQueues lists queues by name.
func (s *Service) listQueues(ctx context.Context, c *call, in *listQueuesInput) (*listQueuesOutput, error) {
	p, refusal := readPage(in.MaxResults, in.NextToken)
	if refusal != nil {
		return nil, refusal
	}
	var names []string
	err := s.read(ctx, c, func(v queue.View) error {
		names = v.ListQueues(in.Prefix, p.after, p.limit+1)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := &listQueuesOutput{}
	out.QueueURLs, out.NextToken = s.cut(c, p, names)
	return out, nil
}

// page is one step through a list sorted by name.
type page struct {
	after string // the last name of the page before
	limit int
	more  bool // a token for the next page is wanted
}

// tokenPrefix begins the decoded form of a token, so that text which merely
// happens to be base64 is refused.
const tokenPrefix = "after:"

func readPage(maxResults awswire.Int, token string) (page, *queue.Error) {
	p := page{limit: queue.ListQueuesMax}
	if maxResults.Given {
		if maxResults.Value < 1 || maxResults.Value > queue.ListQueuesMax {
			return page{}, invalidValue(strconv.FormatInt(maxResults.Value, 10), "MaxResults", "Must be between 1 and 1000, if provided.")
		}
		// Without MaxResults AWS gives at most 1000 names and no token.
		p.limit, p.more = int(maxResults.Value), true
	}
	if token == "" {
		return p, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	after, ok := strings.CutPrefix(string(raw), tokenPrefix)
	if err != nil || !ok {
		return page{}, invalidValue(token, "NextToken", "It was not returned by this action.")
	}
	p.after = after
	return p, nil
}

// cut turns names, one more than the page holds, into URLs and a token.
func (s *Service) cut(c *call, p page, names []string) (urls []string, token string) {
	if len(names) > p.limit {
		names = names[:p.limit]
		if p.more {
			token = base64.RawURLEncoding.EncodeToString([]byte(tokenPrefix + names[p.limit-1]))
		}
	}
	base := baseURL(c.request) + "/" + s.Account + "/"
	urls = make([]string, len(names))
	for i, name := range names {
		urls[i] = base + name
	}
	return urls, token
}
