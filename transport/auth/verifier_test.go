package auth

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

func TestError(t *testing.T) {
	t.Parallel()
	if got := (&Error{Code: "AccessDenied", Message: "no"}).Error(); got != "AccessDenied: no" {
		t.Errorf("got %q", got)
	}
}

// A principal id tells users apart and nothing about their keys.
func TestPrincipalID(t *testing.T) {
	t.Parallel()
	const ours, theirs = "000000000000", "111111111111"
	ada := Identity{AccessKeyID: "AKIDEXAMPLE", Account: ours, User: "ada"}.PrincipalID()
	if len(ada) != 21 || ada[:4] != "AIDA" || ada != (Identity{AccessKeyID: "AKIDOTHER", Account: ours, User: "ada"}).PrincipalID() {
		t.Errorf("the id of a user is %s", ada)
	}
	for _, other := range []Identity{{Account: ours, User: "Ada"}, {Account: theirs, User: "ada"}} {
		if other.PrincipalID() == ada {
			t.Errorf("%+v has the id of another user", other)
		}
	}
	if id := (Identity{AccessKeyID: "AKIDEXAMPLE", Account: ours}).PrincipalID(); id != ours {
		t.Errorf("the id of the account is %s", id)
	}
	if id := (Identity{}).PrincipalID(); id != "" {
		t.Errorf("the id of an anonymous caller is %s", id)
	}
}
