package sigv4

import (
	"net/http"

	"github.com/seriatimq/seriatim/transport/auth"
)

// Codes of refusals for callers of this package.
const (
	// Unsigned means that a request has no signature.
	Unsigned = "MissingAuthenticationToken"
	// UnknownKey means that Keys does not have the key.
	UnknownKey = "InvalidClientTokenId"
)

// Refusals, with the codes of sqs.md 1.5 and the texts of AWS.

func missingToken() error {
	return &auth.Error{
		Code: Unsigned, Status: http.StatusForbidden,
		Message: "Request is missing Authentication Token",
	}
}

func incomplete(text string) error {
	return &auth.Error{Code: "IncompleteSignature", Status: http.StatusBadRequest, Message: text}
}

func unknownKey() error {
	return &auth.Error{
		Code: UnknownKey, Status: http.StatusForbidden,
		Message: "The security token included in the request is invalid.",
	}
}

func mismatch(text string) error {
	return &auth.Error{Code: "SignatureDoesNotMatch", Status: http.StatusForbidden, Message: text}
}

func wrongSignature() error {
	return mismatch("The request signature we calculated does not match the signature you provided. " +
		"Check your AWS Secret Access Key and signing method. Consult the service documentation for details.")
}

func expired(text string) error {
	return &auth.Error{Code: "RequestExpired", Status: http.StatusForbidden, Message: text}
}
