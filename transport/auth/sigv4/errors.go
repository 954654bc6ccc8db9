package sigv4

import (
	"net/http"

	"github.com/seriatimq/seriatim/transport/auth"
)

// Codes of refusals that a caller of this package may look at.
const (
	// Unsigned says that a request has no signature.
	Unsigned = "MissingAuthenticationToken"
	// UnknownKey says that it is signed with a key that Keys does not know.
	UnknownKey = "InvalidClientTokenId"
)

// Refusals, with the codes of sqs.md 1.5 and the texts that AWS services give.

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
