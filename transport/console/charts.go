package console

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/ops"
)

// historyPath answers with the history of a queue, or of the cluster.
const historyPath = "/v1/history"

// spans are the ranges of the charts.
var spans = []string{"15m", "1h", "6h", "24h"}

// charts answers with the series for the charts of a page, as JSON.
func (p *page) charts() {
	q := p.r.URL.Query()
	since, name := q.Get("since"), q.Get("queue")
	if !slices.Contains(spans, since) {
		since = spans[1]
	}
	ask := url.Values{"since": {since}}
	byKey := p.session.credentials.key.AccessKeyID != ""
	if name != "" {
		name = p.stateName(name)
		ask.Set("queue", name)
		_, err := p.queuesAPI(name).GetQueueAttributes(p.r.Context(), &seriatimpb.GetQueueAttributesRequest{
			Queue: p.called(name), Names: []string{"QueueArn"},
		})
		if err != nil {
			p.fail(err)
			return
		}
	} else if byKey {
		p.problem(http.StatusForbidden, "The charts of the cluster need an admin token.")
		return
	}
	var answer json.RawMessage
	who := p.who
	if byKey {
		who.Role = ops.Viewer // the policy of the key has permitted the queue
	}
	asked := *p
	asked.who = who
	err := asked.get(historyPath+"?"+ask.Encode(), &answer)
	if refused := (*ops.RefusedCall)(nil); errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		answer, err = []byte(`{"series":{}}`), nil // a queue that was not used yet
	}
	if err != nil {
		p.fail(err)
		return
	}
	p.w.Header().Set("Content-Type", "application/json")
	_, _ = p.w.Write(answer) // an error means that the browser is gone
}
