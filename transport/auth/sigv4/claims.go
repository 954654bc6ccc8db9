package sigv4

import (
	"net/http"
	"strings"

	"github.com/seriatimq/seriatim/transport/auth"
)

// Authenticator identifies the caller of an HTTP request. Safe for concurrent use. The error is an
// *auth.Error if the caller is refused.
type Authenticator interface {
	// Verify examines the header and the URL of r and its body, which was read already. It returns
	// the body without the encoding aws-chunked, which is part of a signature.
	Verify(r *http.Request, body string) (auth.Identity, string, error)
}

// ConnectionOf describes the connection of a request.
func ConnectionOf(r *http.Request) auth.Connection {
	return auth.Connection{Address: r.RemoteAddr, Encrypted: r.TLS != nil, UserAgent: r.UserAgent()}
}

// AcceptAll is an Authenticator that accepts every request as the identity it claims.
type AcceptAll struct{}

// Verify never fails.
func (AcceptAll) Verify(r *http.Request, body string) (auth.Identity, string, error) {
	return identityOf(claimedScope(r)), body, nil
}

// claimedScope returns the credential scope, which reads key/yyyymmdd/region/sqs/aws4_request, from
// the header or, in presigned requests, from the query string.
func claimedScope(r *http.Request) string {
	if scheme, rest, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.HasPrefix(scheme, algorithm) {
		for rest != "" {
			var field string
			field, rest, _ = strings.Cut(rest, ",")
			if scope, ok := strings.CutPrefix(strings.TrimSpace(field), "Credential="); ok {
				return scope
			}
		}
		return ""
	}
	if strings.Contains(r.URL.RawQuery, "X-Amz-Credential=") {
		return r.URL.Query().Get("X-Amz-Credential")
	}
	return ""
}

// identityOf reads a credential scope. The identity is empty for anything malformed.
func identityOf(scope string) auth.Identity {
	key, rest, ok := strings.Cut(scope, "/")
	if !ok || !plainKey(key) {
		return auth.Identity{}
	}
	caller := auth.Identity{AccessKeyID: key}
	if _, rest, ok = strings.Cut(rest, "/"); ok { // the date
		if _, rest, ok = strings.Cut(rest, "/"); ok { // the region
			caller.Service, _, _ = strings.Cut(rest, "/")
		}
	}
	return caller
}
