package sigv4

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestAcceptAll(t *testing.T) {
	t.Parallel()
	const scope = "/20260101/us-east-1/sqs/aws4_request"
	for _, tc := range []struct{ name, header, query, want string }{
		{"unsigned", "", "", ""},
		{"header", "AWS4-HMAC-SHA256 Credential=AKID" + scope + ", SignedHeaders=host, Signature=0", "", "AKID"},
		{"header without blanks", "AWS4-HMAC-SHA256 SignedHeaders=host,Signature=0,Credential=AKID" + scope, "", "AKID"},
		{"presigned", "", "X-Amz-Credential=" + url.QueryEscape("AKID"+scope), "AKID"},
		{"header wins", "AWS4-HMAC-SHA256 Credential=A" + scope, "X-Amz-Credential=B%2Fx", "A"},
		{"other scheme", "Bearer abc", "", ""},
		{"no credential", "AWS4-HMAC-SHA256 Signature=0", "", ""},
		{"no scope", "AWS4-HMAC-SHA256 Credential=AKID", "", ""},
		{"odd characters", "AWS4-HMAC-SHA256 Credential=A<b>" + scope, "", ""},
		{"too long", "AWS4-HMAC-SHA256 Credential=" + strings.Repeat("A", 129) + scope, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := &http.Request{Header: http.Header{"Authorization": {tc.header}}, URL: &url.URL{RawQuery: tc.query}}
			got, body, err := AcceptAll{}.Verify(r, "body")
			if err != nil || body != "body" || got.AccessKeyID != tc.want {
				t.Errorf("got %+v, %v, want %q", got, err, tc.want)
			}
			if service := strings.Contains(tc.header+tc.query, "sqs") && tc.want != ""; (got.Service == "sqs") != service {
				t.Errorf("got the service %q", got.Service)
			}
		})
	}
}
