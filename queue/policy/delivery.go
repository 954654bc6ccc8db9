package policy

import (
	"strconv"

	"github.com/seriatimq/seriatim/queue/jsontext"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/logtime"
)

// Delivery is the DeliveryPolicy of a subscription over HTTP. Text is what
// GetSubscriptionAttributes returns, empty if there is no policy.
type Delivery struct {
	Text string
	// Retry says when a delivery that failed is tried again; nil: as the topic says.
	Retry *Retry
	// ContentType is that of notifications; empty: as the topic says.
	ContentType string
}

// Backoff is how the delays between the retries of a Retry grow.
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

// Retry is a healthyRetryPolicy: retries without delay come first, then those with the
// least delay, then those whose delay grows, then those with the longest.
type Retry struct {
	MinSeconds, MaxSeconds      int64
	Retries                     int64 // all
	NoDelay, MinDelay, MaxDelay int64
	Backoff                     Backoff
}

// defaultRetry and defaultContentType are those of AWS.
var defaultRetry = Retry{MinSeconds: 20, MaxSeconds: 20, Retries: 3}

const defaultContentType = "text/plain; charset=UTF-8"

// After is how long to wait after so many failed attempts, 1 or more, and whether to
// try again at all. AWS names the backoff functions without saying what they compute:
// here the delay grows from the least to the longest, in even steps (linear), in steps
// that grow evenly (arithmetic), by doubling (geometric) and by fourfolding (exponential)
// its distance from the least.
func (r *Retry) After(failed int64) (delay logtime.Duration, again bool) {
	growing := r.Retries - r.NoDelay - r.MinDelay - r.MaxDelay
	shortest, longest := logtime.Seconds(r.MinSeconds), logtime.Seconds(r.MaxSeconds)
	i := failed - 1 - r.NoDelay - r.MinDelay // of the growing ones, from 0 on
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

// of is the i-th part of a whole that i of last is all of.
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

// ParseDelivery reads the DeliveryPolicy of a subscription; reason says what is wrong
// with it, in the form that AWS has for other policies, since its texts are not known.
// Empty text and {} are no policy.
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

// ParseTopicDelivery reads the DeliveryPolicy of a topic, as ParseDelivery does that of a
// subscription.
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

// deliveryNames are what the parts of a DeliveryPolicy are called.
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

// validThrottle reports whether a throttlePolicy is one. It has no effect here.
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

// headerValue reports whether text can be the value of an HTTP header.
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
			return nil, member.name + " must be a whole number from " + strconv.FormatInt(member.from, 10) + " to " + strconv.FormatInt(member.up, 10)
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

// EffectiveDelivery is what counts for a subscription: what its own policy says, unless
// the topic forbids that, then what the policy of the topic says, then what AWS does. The
// policy of a topic that says something else than a DeliveryPolicy says counts as none.
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

// EffectiveDeliveryText is EffectiveDelivery as GetSubscriptionAttributes shows it.
func EffectiveDeliveryText(topicPolicy string, own Delivery) string {
	r, contentType := EffectiveDelivery(topicPolicy, own)
	return `{"healthyRetryPolicy":` + r.text() + `,"sicklyRetryPolicy":null,"throttlePolicy":null,"requestPolicy":` +
		requestText(contentType) + `,"guaranteed":false}`
}

// EffectiveTopicDeliveryText is what the policy of a topic says and what AWS does besides,
// as GetTopicAttributes shows it.
func EffectiveTopicDeliveryText(topicPolicy string) string {
	r, contentType := EffectiveDelivery(topicPolicy, Delivery{})
	_, _, overrides := topicDelivery(topicPolicy)
	return `{"http":{"defaultHealthyRetryPolicy":` + r.text() + `,"disableSubscriptionOverrides":` + strconv.FormatBool(!overrides) +
		`,"defaultRequestPolicy":` + requestText(contentType) + `}}`
}

// text is the policy in the order in which AWS shows its members.
func (r *Retry) text() string {
	number := func(name string, n int64) string { return `"` + name + `":` + strconv.FormatInt(n, 10) + "," }
	return "{" + number("minDelayTarget", r.MinSeconds) + number("maxDelayTarget", r.MaxSeconds) +
		number("numRetries", r.Retries) + number("numMaxDelayRetries", r.MaxDelay) + number("numNoDelayRetries", r.NoDelay) +
		number("numMinDelayRetries", r.MinDelay) + `"backoffFunction":"` + backoffNames[r.Backoff] + `"}`
}

func requestText(contentType string) string {
	return `{"headerContentType":` + jsontext.Quote(contentType) + `}`
}
