package leader

import (
	"context"
	"errors"
	"strconv"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/notification"
)

// Poster makes HTTP requests. Safe for concurrent use.
type Poster interface {
	// Post sends one POST request, with names and values of headers, and returns the status of
	// the answer. It returns an error if there was no answer in time.
	Post(ctx context.Context, url string, header [][2]string, body string) (status int, err error)
}

// post makes one attempt of a delivery.
func (r *outboxRunner) post(ctx context.Context, subscription uint64, d *queue.WebDelivery) {
	status, err := r.term.options.Poster.Post(ctx, d.URL, headerOf(&d.Request), d.Request.Body())
	if ctx.Err() != nil {
		return // the next leader makes the attempt
	}
	outcome := deliveryOutcome(status, err)
	p := posted{report: report{Subscription: subscription, Number: d.Number, Attempts: d.Attempts, Outcome: outcome}}
	if p.delivered = outcome == queue.DeliveryDone; !p.delivered {
		r.logFailure(d, status, err)
	}
	select {
	case r.posted <- p:
	case <-ctx.Done():
	}
}

// headerOf returns the headers that SNS documents.
func headerOf(n *notification.Request) [][2]string {
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
	return header
}

const statusTooManyRequests = 429

// deliveryOutcome classifies an answer as SNS does: no answer, 5xx and 429 are retried, all others are
// final.
func deliveryOutcome(status int, err error) queue.DeliveryOutcome {
	switch {
	case err == nil && status >= 200 && status < 300:
		return queue.DeliveryDone
	case err != nil, status >= 500, status == statusTooManyRequests:
		return queue.DeliveryFailed
	}
	return queue.DeliveryRefused
}

// logFailure logs a failed confirmation as a warning, and a failed delivery at debug level. It
// omits the URL, which may hold a password.
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
