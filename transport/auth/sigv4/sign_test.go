package sigv4

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// The verifier accepts requests of this signer and refuses changed ones. Other tests show that the
// AWS SDK signs in the same way.
func TestSigner(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	signer := &Signer{KeyID: "AKIDEXAMPLE", Secret: "an-example-and-no-secret", Region: "eu-north-1", Service: "sqs", Now: now}
	verifier := New(keyTable{"AKIDEXAMPLE": "an-example-and-no-secret"}, now)
	const body = `{"QueueName":"q"}`
	request := func() *http.Request {
		r, err := http.NewRequest(http.MethodPost, "http://127.0.0.1:9324/some%20path/?b=2&a=1", strings.NewReader(body))
		clustertest.Must(t, err)
		r.Header.Set("X-Amz-Target", "AmazonSQS.CreateQueue")
		return r
	}
	for name, sign := range map[string]func(*http.Request){
		"whole": func(r *http.Request) { signer.Sign(r, body) },
		"head":  signer.SignHead,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := request()
			sign(r)
			if caller, _, err := verifier.Verify(r, body); err != nil || caller.AccessKeyID != "AKIDEXAMPLE" || caller.Service != "sqs" {
				t.Fatalf("got %+v, %v", caller, err)
			}
			r.Header.Set("X-Amz-Target", "AmazonSQS.DeleteQueue")
			if _, _, err := verifier.Verify(r, body); err == nil {
				t.Error("another action was accepted")
			}
		})
	}
	r := request()
	signer.Sign(r, body)
	if _, _, err := verifier.Verify(r, body+" "); err == nil {
		t.Error("another body was accepted")
	}
}
