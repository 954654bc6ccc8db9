package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/logtime"
)

// delaysOf returns the delays of all retries.
func delaysOf(t *testing.T, text string) (all []logtime.Duration) {
	t.Helper()
	p, reason := ParseDelivery(`{"healthyRetryPolicy":` + text + `}`)
	if reason != "" {
		t.Fatal(reason)
	}
	for failed := int64(1); ; failed++ {
		delay, again := p.Retry.After(failed)
		if !again {
			return all
		}
		all = append(all, delay)
	}
}

// The phases follow one another, and delays never decrease.
func TestRetryDelays(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		want []logtime.Duration
	}{
		{`{"numRetries":0}`, nil},
		{`{}`, []logtime.Duration{20_000, 20_000, 20_000}},
		{`{"numRetries":1,"minDelayTarget":5,"maxDelayTarget":50}`, []logtime.Duration{5000}},
		{
			`{"numRetries":9,"numNoDelayRetries":2,"numMinDelayRetries":2,"numMaxDelayRetries":2,"minDelayTarget":10,"maxDelayTarget":20}`,
			[]logtime.Duration{0, 0, 10_000, 10_000, 10_000, 15_000, 20_000, 20_000, 20_000},
		},
		{`{"numRetries":2,"numMaxDelayRetries":2,"minDelayTarget":1,"maxDelayTarget":7}`, []logtime.Duration{7000, 7000}},
		{`{"numRetries":5,"minDelayTarget":10,"maxDelayTarget":20,"backoffFunction":"arithmetic"}`,
			[]logtime.Duration{10_000, 11_000, 13_000, 16_000, 20_000}},
		{`{"numRetries":5,"minDelayTarget":4,"maxDelayTarget":20,"backoffFunction":"geometric"}`,
			[]logtime.Duration{4000, 6000, 8000, 12_000, 20_000}},
		{`{"numRetries":4,"minDelayTarget":4,"maxDelayTarget":20,"backoffFunction":"exponential"}`,
			[]logtime.Duration{4000, 5000, 8000, 20_000}},
	} {
		if got := delaysOf(t, tc.text); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.text, got, tc.want)
		}
	}
	for _, backoff := range backoffNames {
		got := delaysOf(t, `{"numRetries":100,"minDelayTarget":1,"maxDelayTarget":60,"backoffFunction":"`+backoff+`"}`)
		if len(got) != 100 || !slices.IsSorted(got) || got[0] != 1000 || got[99] != 60_000 {
			t.Errorf("%s: %v", backoff, got)
		}
	}
}

// An invalid policy of a topic has no effect.
func TestEffectiveDeliveryOfUnreadablePolicies(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{}", "x", `{"http":1}`, `{"http":{"defaultHealthyRetryPolicy":{"numRetries":"many"}}}`,
		`{"http":{"defaultRequestPolicy":[]}}`} {
		if r, contentType := EffectiveDelivery(text, Delivery{}); r != defaultRetry || contentType != defaultContentType {
			t.Errorf("%s: %+v, %s", text, r, contentType)
		}
	}
}

// The policy of a topic has the limits of a subscription's, with other names.
func TestTopicDelivery(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "{}": "", `{"http":{}}`: "",
		`{"http":{"defaultHealthyRetryPolicy":{"numRetries":0},"disableSubscriptionOverrides":true,"defaultThrottlePolicy":{"maxReceivesPerSecond":1}}}`: "",
		`{"http":{"defaultThrottlePolicy":null}}`: "",
		`[]`:         "failed to parse JSON.",
		`{"http":1}`: "http must be an object",
		`{"http":{"disableSubscriptionOverrides":"yes"}}`: "disableSubscriptionOverrides must be true or false",
		`{"http":{"defaultHealthyRetryPolicy":{"maxDelayTarget":3601}}}`: "defaultHealthyRetryPolicy " +
			"maxDelayTarget must be a whole number from 1 to 3600",
		`{"http":{"defaultHealthyRetryPolicy":{"numRetries":100,"minDelayTarget":37}}}`: "defaultHealthyRetryPolicy " +
			"takes more than 3600 seconds for all retries",
		`{"http":{"defaultHealthyRetryPolicy":{"numRetries":100,"minDelayTarget":36}}}`: "",
		`{"http":{"defaultHealthyRetryPolicy":{"numMaxDelayRetries":-1}}}`: "defaultHealthyRetryPolicy " +
			"numMaxDelayRetries must be a whole number from 0 to 100",
		`{"http":{"defaultThrottlePolicy":{"maxReceivesPerSecond":0}}}`: "defaultThrottlePolicy " +
			"must be an object in which maxReceivesPerSecond is a whole number from 1 on",
		`{"http":{"defaultRequestPolicy":{"headerContentType":"a\u0000"}}}`:                "headerContentType must be the value of a header",
		`{"http":{"defaultRequestPolicy":"application/json"}}`:                             "defaultRequestPolicy must be an object",
		`{"http":{"defaultHealthyRetryPolicy":{"minDelayTarget":21,"maxDelayTarget":20}}}`: "defaultHealthyRetryPolicy minDelayTarget must not be above maxDelayTarget",
	} {
		if got := ParseTopicDelivery(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// The effective policy is merged by part: subscription, topic, AWS.
func TestEffectiveDelivery(t *testing.T) {
	t.Parallel()
	const retry = `"minDelayTarget":20,"maxDelayTarget":20,"numRetries":%,"numMaxDelayRetries":0,"numNoDelayRetries":0,"numMinDelayRetries":0,"backoffFunction":"linear"}`
	retries := func(n string) string { return strings.Replace(retry, "%", n, 1) }
	for _, tc := range []struct{ topic, own, wantTopic, wantOwn string }{
		{"", "", retries("3") + `,false,"text/plain; charset=UTF-8"`, retries("3") + `"text/plain; charset=UTF-8"`},
		{
			`{"http":{"defaultHealthyRetryPolicy":{"numRetries":7}}}`, `{"requestPolicy":{"headerContentType":"application/json"}}`,
			retries("7") + `,false,"text/plain; charset=UTF-8"`, retries("7") + `"application/json"`,
		},
		{
			`{"http":{"defaultRequestPolicy":{"headerContentType":"text/xml"}}}`, `{"healthyRetryPolicy":{"numRetries":5}}`,
			retries("3") + `,false,"text/xml"`, retries("5") + `"text/xml"`,
		},
		{
			`{"http":{"disableSubscriptionOverrides":true,"defaultHealthyRetryPolicy":{"numRetries":7}}}`,
			`{"healthyRetryPolicy":{"numRetries":5},"requestPolicy":{"headerContentType":"application/json"}}`,
			retries("7") + `,true,"text/plain; charset=UTF-8"`, retries("7") + `"text/plain; charset=UTF-8"`,
		},
	} {
		own, reason := ParseDelivery(tc.own)
		if reason != "" {
			t.Fatal(reason)
		}
		part := func(text, begin, middle, end string) string {
			text, _ = strings.CutPrefix(text, begin)
			text, _ = strings.CutSuffix(text, end)
			for cut := range strings.SplitSeq(middle, "|") {
				text = strings.Replace(text, cut, "", 1)
			}
			return text
		}
		ofTopic := part(EffectiveTopicDeliveryText(tc.topic), `{"http":{"defaultHealthyRetryPolicy":{`,
			`"disableSubscriptionOverrides":|"defaultRequestPolicy":{"headerContentType":`, `}}}`)
		if ofTopic != tc.wantTopic {
			t.Errorf("of the topic: %s, want %s", ofTopic, tc.wantTopic)
		}
		ofOwn := part(EffectiveDeliveryText(tc.topic, own), `{"healthyRetryPolicy":{`,
			`,"sicklyRetryPolicy":null,"throttlePolicy":null,"requestPolicy":{"headerContentType":`, `},"guaranteed":false}`)
		if ofOwn != tc.wantOwn {
			t.Errorf("of the subscription: %s, want %s", ofOwn, tc.wantOwn)
		}
	}
}
