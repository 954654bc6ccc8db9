package policy

import (
	"slices"
	"testing"

	"github.com/seriatimq/seriatim/queue/logtime"
)

// delaysOf are the delays of all retries in milliseconds.
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

// The phases come one after the other, and a delay never falls below the one before it.
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
		{`{"numRetries":5,"minDelayTarget":10,"maxDelayTarget":20,"backoffFunction":"arithmetic"}`, []logtime.Duration{10_000, 11_000, 13_000, 16_000, 20_000}},
		{`{"numRetries":5,"minDelayTarget":4,"maxDelayTarget":20,"backoffFunction":"geometric"}`, []logtime.Duration{4000, 6000, 8000, 12_000, 20_000}},
		{`{"numRetries":4,"minDelayTarget":4,"maxDelayTarget":20,"backoffFunction":"exponential"}`, []logtime.Duration{4000, 5000, 8000, 20_000}},
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

// What a topic says that is no DeliveryPolicy counts as nothing: it was stored unread once.
func TestEffectiveDeliveryOfUnreadablePolicies(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{}", "x", `{"http":1}`, `{"http":{"defaultHealthyRetryPolicy":{"numRetries":"many"}}}`, `{"http":{"defaultRequestPolicy":[]}}`} {
		if r, contentType := EffectiveDelivery(text, Delivery{}); r != defaultRetry || contentType != defaultContentType {
			t.Errorf("%s: %+v, %s", text, r, contentType)
		}
	}
}
