package conformance

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// TestWireServices checks which service gets a form. SQS and SNS share a port and some names of
// actions, so the version decides, or else the service in the signature.
func TestWireServices(t *testing.T) {
	const snsNamespace, sqsNamespace = "http://sns.amazonaws.com/doc/2010-03-31/", "http://queue.amazonaws.com/doc/2012-11-05/"
	scope := func(service string) string {
		return "AWS4-HMAC-SHA256 Credential=AKIA/20260101/us-east-1/" + service + "/aws4_request, SignedHeaders=host, Signature=0"
	}
	onTopics(t, func(t *testing.T, c *client) {
		for _, test := range []struct{ name, action, version, signed, namespace, code string }{
			{"version of SNS", "AddPermission", snsVersion, "", snsNamespace, invalid},
			{"version of SQS", "AddPermission", sqsVersion, "", sqsNamespace, "MissingParameter"},
			{"signed for SNS", "AddPermission", "", "sns", snsNamespace, invalid},
			{"signed for SQS", "AddPermission", "", "sqs", sqsNamespace, "MissingParameter"},
			{"neither", "AddPermission", "", "", sqsNamespace, "MissingParameter"},
			{"version before signature", "RemovePermission", snsVersion, "sqs", snsNamespace, invalid},
			{"action of SNS, version of SQS", "Publish", sqsVersion, "sns", sqsNamespace, "InvalidAction"},
			{"action of SQS, version of SNS", "SendMessage", snsVersion, "sqs", snsNamespace, "InvalidAction"},
			{"action of SNS, signed for SQS", "Publish", "", "sqs", sqsNamespace, "InvalidAction"},
			{"action of SNS alone", "Publish", "", "", snsNamespace, invalid},
		} {
			t.Run(test.name, func(t *testing.T) {
				form := url.Values{"Action": {test.action}}
				if test.version != "" {
					form.Set("Version", test.version)
				}
				for _, method := range []string{http.MethodPost, http.MethodGet} {
					target, body := c.cluster.Endpoint()+"/", form.Encode()
					if method == http.MethodGet {
						target, body = target+"?"+body, ""
					}
					request, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
					harness.Must(t, err)
					request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
					if test.signed != "" {
						request.Header.Set("Authorization", scope(test.signed))
					}
					got := send(t, request)
					code := got.header.Get("x-amzn-query-error")
					if code != test.code+";Sender" || !strings.Contains(string(got.body), `<ErrorResponse xmlns="`+test.namespace+`">`) {
						t.Errorf("%s: %v", method, got)
					}
				}
			})
		}
	})
}

// TestWirePublishDuplicate checks the header that reports a dropped publish, which SNS does not
// have.
func TestWirePublishDuplicate(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic := c.fifoTopic(t, nil)
		post := func(pairs ...string) string {
			t.Helper()
			form := url.Values{"Version": {"2010-03-31"}, "TopicArn": {topic}}
			for i := 0; i < len(pairs); i += 2 {
				form.Set(pairs[i], pairs[i+1])
			}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.cluster.Endpoint()+"/",
				strings.NewReader(form.Encode()))
			harness.Must(t, err)
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			return send(t, request).ok(t).header.Get("X-Seriatim-Duplicate")
		}
		one := []string{"Action", "Publish", "Message", "m", "MessageGroupId", "g", "MessageDeduplicationId", "a"}
		const entry = "PublishBatchRequestEntries.member."
		batch := []string{"Action", "PublishBatch"}
		for i, id := range []string{"a", "b", "a"} {
			at := entry + string(rune('1'+i)) + "."
			batch = append(batch, at+"Id", "e"+string(rune('1'+i)), at+"Message", "m", at+"MessageGroupId", "g",
				at+"MessageDeduplicationId", id)
		}
		if got := []string{post(one...), post(one...), post(batch...)}; got[0] != "" || got[1] != "true" || got[2] != "e1,e3" {
			t.Errorf("headers %q", got)
		}
	})
}
