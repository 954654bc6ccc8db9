package policy

import (
	"strconv"

	"github.com/seriatimq/seriatim/queue/jsontext"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
)

// Delivery is the DeliveryPolicy of an HTTP subscription. Text is the value for
// GetSubscriptionAttributes, empty if there is no policy.
type Delivery struct {
	Text string
	// Retry is nil if the topic's policy applies.
	Retry *Retry
	// ContentType of notifications is empty if the topic's policy applies.
	ContentType string
}

// Backoff is the function by which delays between retries grow.
type Backoff uint8

// Backoff functions of SNS.
const (
	BackoffLinear Backoff = iota
	BackoffArithmetic
	BackoffGeometric
	BackoffExponential
)

var backoffNames = [...]string{
	BackoffLinear: "linear", BackoffArithmetic: "arithmetic", BackoffGeometric: "geometric", BackoffExponential: "exponential",
}

// Retry is a healthyRetryPolicy: first retries without delay, then with the minimum delay, then
// with growing delays, then with the maximum.
type Retry struct {
	MinSeconds, MaxSeconds      int64
	Retries                     int64 // total
	NoDelay, MinDelay, MaxDelay int64
	Backoff                     Backoff
}

// Defaults of AWS.
var defaultRetry = Retry{MinSeconds: 20, MaxSeconds: 20, Retries: 3}

const defaultContentType = "text/plain; charset=UTF-8"

// After returns the delay after a number of failed attempts, 1 or more. again is false after the
// last retry. AWS does not define the backoff functions. Here the delay grows from minimum to
// maximum in even steps (linear) or evenly growing steps (arithmetic). Or its distance from the
// minimum doubles (geometric) or quadruples (exponential).
func (r *Retry) After(failed int64) (delay logtime.Duration, again bool) {
	growing := r.Retries - r.NoDelay - r.MinDelay - r.MaxDelay
	shortest, longest := logtime.Seconds(r.MinSeconds), logtime.Seconds(r.MaxSeconds)
	i := failed - 1 - r.NoDelay - r.MinDelay // index among the growing delays
	switch {
	case failed > r.Retries:
		return 0, false
	case failed <= r.NoDelay:
		return 0, true
	case i < 0:
		return shortest, true
	case i >= growing:
		return longest, true
	}
	return shortest + r.Backoff.of(longest-shortest, i, growing-1), true
}

// of returns the share of step i in the whole, which step last completes.
func (f Backoff) of(whole logtime.Duration, i, last int64) logtime.Duration {
	switch {
	case i == 0:
		return 0
	case f == BackoffArithmetic:
		return whole * logtime.Duration(i*(i+1)) / logtime.Duration(last*(last+1))
	case f == BackoffGeometric:
		return whole >> min(last-i, 62)
	case f == BackoffExponential:
		return whole >> min(2*(last-i), 62)
	}
	return whole * logtime.Duration(i) / logtime.Duration(last)
}

// ParseDelivery reads the DeliveryPolicy of a subscription. reason describes an error in the style
// of AWS, whose texts are unknown. Empty text and {} mean no policy.
func ParseDelivery(text string) (p Delivery, reason string) {
	if text == "" {
		return Delivery{}, ""
	}
	o, ok := parseObject(text)
	if !ok {
		return Delivery{}, "failed to parse JSON."
	}
	if len(o) == 0 {
		return Delivery{}, ""
	}
	p.Text = o.String()
	if p.Retry, p.ContentType, reason = deliveryOf(o, ownNames); reason != "" {
		return Delivery{}, reason
	}
	return p, ""
}

// ParseTopicDelivery checks the DeliveryPolicy of a topic.
func ParseTopicDelivery(text string) (reason string) {
	if text == "" {
		return ""
	}
	o, ok := parseObject(text)
	if !ok {
		return "failed to parse JSON."
	}
	raw, given := o.Get("http")
	if !given {
		return ""
	}
	web, ok := parseObject(raw)
	if !ok {
		return "http must be an object"
	}
	if _, _, reason = deliveryOf(web, topicNames); reason != "" {
		return reason
	}
	if raw, given = web.Get("disableSubscriptionOverrides"); given && raw != "true" && raw != "false" {
		return "disableSubscriptionOverrides must be true or false"
	}
	return ""
}

// deliveryNames are the member names of a DeliveryPolicy.
type deliveryNames struct{ retry, throttle, request string }

var (
	ownNames   = deliveryNames{"healthyRetryPolicy", "throttlePolicy", "requestPolicy"}
	topicNames = deliveryNames{"defaultHealthyRetryPolicy", "defaultThrottlePolicy", "defaultRequestPolicy"}
)

func deliveryOf(o jsontext.Object, names deliveryNames) (r *Retry, contentType, reason string) {
	if raw, given := o.Get(names.retry); given {
		if r, reason = parseRetry(raw); reason != "" {
			return nil, "", names.retry + " " + reason
		}
	}
	if raw, given := o.Get(names.throttle); given && !validThrottle(raw) {
		return nil, "", names.throttle + " must be an object in which maxReceivesPerSecond is a whole number from 1 on"
	}
	raw, given := o.Get(names.request)
	if !given {
		return r, "", ""
	}
	settings, ok := parseObject(raw)
	if !ok {
		return nil, "", names.request + " must be an object"
	}
	if raw, given = settings.Get("headerContentType"); given {
		if contentType, ok = jsontext.StringOf(raw); !ok || !headerValue(contentType) {
			return nil, "", "headerContentType must be the value of a header"
		}
	}
	return r, contentType, ""
}

// validThrottle checks a throttlePolicy. It has no effect here.
func validThrottle(raw string) bool {
	o, ok := parseObject(raw)
	if !ok {
		return raw == "null"
	}
	if raw, ok = o.Get("maxReceivesPerSecond"); !ok || raw == "null" {
		return true
	}
	n, err := strconv.ParseInt(raw, 10, 32)
	return err == nil && n >= 1
}

// headerValue reports whether text is a valid value of an HTTP header.
func headerValue(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' {
			return false
		}
	}
	return len(text) <= 256
}

func parseRetry(raw string) (*Retry, string) {
	o, ok := parseObject(raw)
	if !ok {
		return nil, "must be an object"
	}
	r := defaultRetry
	for _, member := range []struct {
		name     string
		to       *int64
		from, up int64
	}{
		{"minDelayTarget", &r.MinSeconds, 1, limits.DeliveryRetrySecondsMax},
		{"maxDelayTarget", &r.MaxSeconds, 1, limits.DeliveryRetrySecondsMax},
		{"numRetries", &r.Retries, 0, limits.DeliveryRetriesMax},
		{"numNoDelayRetries", &r.NoDelay, 0, limits.DeliveryRetriesMax},
		{"numMinDelayRetries", &r.MinDelay, 0, limits.DeliveryRetriesMax},
		{"numMaxDelayRetries", &r.MaxDelay, 0, limits.DeliveryRetriesMax},
	} {
		raw, given := o.Get(member.name)
		if !given {
			continue
		}
		n, err := strconv.ParseInt(raw, 10, 32)
		if err != nil || n < member.from || n > member.up {
			return nil, member.name + " must be a whole number from " + strconv.FormatInt(member.from, 10) + " to " +
				strconv.FormatInt(member.up, 10)
		}
		*member.to = n
	}
	if _, given := o.Get("maxDelayTarget"); !given {
		r.MaxSeconds = max(r.MaxSeconds, r.MinSeconds)
	}
	if raw, given := o.Get("backoffFunction"); given {
		name, _ := jsontext.StringOf(raw)
		f, known := backoffNamed(name)
		if !known {
			return nil, "backoffFunction must be arithmetic, exponential, geometric or linear"
		}
		r.Backoff = f
	}
	return &r, r.contradiction()
}

func backoffNamed(name string) (Backoff, bool) {
	for f, known := range backoffNames {
		if name == known {
			return Backoff(f), true
		}
	}
	return 0, false
}

func (r *Retry) contradiction() string {
	switch {
	case r.MinSeconds > r.MaxSeconds:
		return "minDelayTarget must not be above maxDelayTarget"
	case r.NoDelay+r.MinDelay+r.MaxDelay > r.Retries:
		return "numRetries must be at least the sum of the other numbers of retries"
	}
	total := logtime.Duration(0)
	for failed := int64(1); failed <= r.Retries; failed++ {
		delay, _ := r.After(failed)
		total += delay
	}
	if total > logtime.Seconds(limits.DeliveryRetrySecondsMax) {
		return "takes more than " + strconv.Itoa(limits.DeliveryRetrySecondsMax) + " seconds for all retries"
	}
	return ""
}

// EffectiveDelivery returns the retries and content type of a subscription: from its own policy
// unless the topic forbids that, else from the topic's, else the defaults of AWS. It ignores an
// invalid policy of the topic.
func EffectiveDelivery(topicPolicy string, own Delivery) (Retry, string) {
	retry, contentType := defaultRetry, defaultContentType
	ofTopic, contentTypeOfTopic, overrides := topicDelivery(topicPolicy)
	if ofTopic != nil {
		retry = *ofTopic
	}
	if contentTypeOfTopic != "" {
		contentType = contentTypeOfTopic
	}
	if !overrides {
		return retry, contentType
	}
	if own.Retry != nil {
		retry = *own.Retry
	}
	if own.ContentType != "" {
		contentType = own.ContentType
	}
	return retry, contentType
}

// topicDelivery reads the DeliveryPolicy of a topic.
func topicDelivery(text string) (r *Retry, contentType string, overrides bool) {
	if text == "" {
		return nil, "", true
	}
	o, _ := parseObject(text)
	raw, _ := o.Get("http")
	web, _ := parseObject(raw)
	r, contentType, reason := deliveryOf(web, topicNames)
	if reason != "" {
		r, contentType = nil, ""
	}
	forbidden, _ := web.Get("disableSubscriptionOverrides")
	return r, contentType, forbidden != "true"
}

// EffectiveDeliveryText returns EffectiveDelivery in the format of GetSubscriptionAttributes.
func EffectiveDeliveryText(topicPolicy string, own Delivery) string {
	r, contentType := EffectiveDelivery(topicPolicy, own)
	return `{"healthyRetryPolicy":` + r.text() + `,"sicklyRetryPolicy":null,"throttlePolicy":null,"requestPolicy":` +
		requestText(contentType) + `,"guaranteed":false}`
}

// EffectiveTopicDeliveryText returns the topic's policy with defaults in the format of
// GetTopicAttributes.
func EffectiveTopicDeliveryText(topicPolicy string) string {
	r, contentType := EffectiveDelivery(topicPolicy, Delivery{})
	_, _, overrides := topicDelivery(topicPolicy)
	return `{"http":{"defaultHealthyRetryPolicy":` + r.text() + `,"disableSubscriptionOverrides":` + strconv.FormatBool(!overrides) +
		`,"defaultRequestPolicy":` + requestText(contentType) + `}}`
}

// text returns the policy with members in the order of AWS.
func (r *Retry) text() string {
	number := func(name string, n int64) string { return `"` + name + `":` + strconv.FormatInt(n, 10) + "," }
	return "{" + number("minDelayTarget", r.MinSeconds) + number("maxDelayTarget", r.MaxSeconds) +
		number("numRetries", r.Retries) + number("numMaxDelayRetries", r.MaxDelay) + number("numNoDelayRetries", r.NoDelay) +
		number("numMinDelayRetries", r.MinDelay) + `"backoffFunction":"` + backoffNames[r.Backoff] + `"}`
}

func requestText(contentType string) string {
	return `{"headerContentType":` + jsontext.Quote(contentType) + `}`
}
