package gate

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
)

// services lists the services in valid signatures. Native calls and those of the command-line tool are
// signed for SQS.
var services = []string{"sqs", "sns"}

// securityToken names the header of temporary credentials, which do not exist here.
const securityToken = "X-Amz-Security-Token"

// checkSigned refuses requests with a valid signature that is for another service, has an unverified
// token, or does not cover the meaning of the request.
func checkSigned(r *http.Request, caller auth.Identity) error {
	if !slices.Contains(services, caller.Service) {
		return mismatch("Credential should be scoped to correct service: 'sqs' or 'sns'.")
	}
	query := url.Values{}
	if r.URL.RawQuery != "" {
		query = r.URL.Query()
	}
	if r.Header.Get(securityToken) != "" || query.Get(securityToken) != "" {
		return &auth.Error{Code: sigv4.UnknownKey, Status: http.StatusForbidden,
			Message: "The security token included in the request is invalid."}
	}
	for name, values := range query {
		if len(values) > 1 { // the signature ignores their order
			return mismatch("The parameter '" + name + "' is in the query string more than once.")
		}
	}
	for segment := range strings.SplitSeq(r.URL.Path, "/") {
		if segment == "." || segment == ".." { // the signature leaves them out
			return mismatch("The path has a segment '" + segment + "'.")
		}
	}
	return nil
}

func mismatch(text string) error {
	return &auth.Error{Code: "SignatureDoesNotMatch", Status: http.StatusForbidden, Message: text}
}
