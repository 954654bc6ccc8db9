package console

import (
	"encoding/json"
	"time"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// replayPolicy is the attribute ReplayPolicy of a subscription.
type replayPolicy struct {
	PointType     string
	StartingPoint string
	EndingPoint   string `json:",omitempty"`
}

// replay starts a replay of the archive of a topic for a subscription, or ends it.
func (p *page) replay() {
	name, arn, f := p.stateName(p.r.PathValue("name")), p.r.PostFormValue("arn"), p.r.PostForm
	policy, text := "{}", "The replay has ended. New messages are delivered."
	if f.Get("stop") == "" {
		from, err := scheduledAt(f.Get("from"))
		to, failed := scheduledAt(f.Get("to"))
		if err == nil {
			err = failed
		}
		if err != nil {
			p.done(err, topicURL(name), "", "")
			return
		}
		const layout = "2006-01-02T15:04:05.000Z"
		point := replayPolicy{PointType: "Timestamp", StartingPoint: time.UnixMilli(from).UTC().Format(layout)}
		text = "The replay has started. New messages follow the old ones."
		if to != 0 {
			point.EndingPoint = time.UnixMilli(to).UTC().Format(layout)
			text = "The replay has started. At its end the subscription pauses until you end the replay here."
		}
		written, err := json.Marshal(point)
		if err != nil {
			p.done(err, topicURL(name), "", "")
			return
		}
		policy = string(written)
	}
	_, err := p.topicsAPI(name).SetSubscriptionAttributes(p.r.Context(), &seriatimpb.SetSubscriptionAttributesRequest{
		SubscriptionArn: arn, Attributes: map[string]string{"ReplayPolicy": policy},
	})
	p.done(err, topicURL(name), text, command("topic", "subscription", "set", name, f.Get("endpoint"),
		"ReplayPolicy="+policy))
}
