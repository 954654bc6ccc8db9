package leader

import (
	"context"
	"errors"
	"strconv"

	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/queue"
)

// post makes one attempt of a delivery.
func (r *outboxRunner) post(ctx context.Context, subscription uint64, d *queue.WebDelivery) {
	status, err := r.term.options.Poster.Post(ctx, postOf(d))
	if ctx.Err() != nil {
		return // the next leader makes the attempt
	}
	p := posted{report: report{Subscription: subscription, Number: d.Number, Attempts: d.Attempts, Outcome: judge(status, err)}}
	if p.took = p.Outcome == queue.DeliveryDone; !p.took {
		r.logFailure(d, status, err)
	}
	select {
	case r.posted <- p:
	case <-ctx.Done():
	}
}

// postOf is the request that makes a delivery, with the headers that SNS documents.
func postOf(d *queue.WebDelivery) *environment.Post {
	n := &d.Request
	header := [][2]string{
		{"Content-Type", n.ContentType},
		{"x-amz-sns-message-type", n.Kind()},
		{"x-amz-sns-message-id", n.MessageID().String()},
		{"x-amz-sns-topic-arn", n.TopicARN},
	}
	if n.Confirmation == nil {
		header = append(header, [2]string{"x-amz-sns-subscription-arn", n.SubscriptionARN})
	}
	if n.Raw {
		header = append(header, [2]string{"x-amz-sns-rawdelivery", "true"})
	}
	return &environment.Post{URL: d.URL, Header: header, Body: n.Body()}
}

const statusTooManyRequests = 429

// judge judges an answer as SNS does: what may be otherwise the next time is tried
// again, which are missing answers, those of 5xx, and 429; all others are final.
func judge(status int, err error) queue.DeliveryOutcome {
	switch {
	case err == nil && status >= 200 && status < 300:
		return queue.DeliveryDone
	case err != nil, status >= 500, status == statusTooManyRequests:
		return queue.DeliveryFailed
	}
	return queue.DeliveryRefused
}

// logFailure tells the operator why a subscriber is not asked to confirm, and at debug
// level why a message was not delivered. The URL may hold a password, so it is not shown.
func (r *outboxRunner) logFailure(d *queue.WebDelivery, status int, err error) {
	if err == nil {
		err = errors.New("the answer has the status " + strconv.Itoa(status))
	}
	log := r.term.options.Log.Debug
	if d.Request.Confirmation != nil {
		log = r.term.options.Log.Warn
	}
	log("posting to a subscriber failed", "subscription", d.Request.SubscriptionARN, "attempt", d.Attempts+1, "error", err)
}
