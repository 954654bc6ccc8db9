package aws

import (
	"errors"
	"net/http"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

// Coral is the namespace of the errors that all services share.
const Coral = "com.amazon.coral.service#"

// Form is the type, the code and the status of an error on the wire.
type Form struct {
	Type   string // in JSON, with namespace
	Code   string // in Query
	Status int
}

// InternalForm is the form of an error that the server did not expect.
var InternalForm = form(Coral+"InternalFailure", "InternalFailure", http.StatusInternalServerError)

func form(kind, code string, status int) Form { return Form{Type: kind, Code: code, Status: status} }

// Error returns an error of this form.
func (f Form) Error(message string) *awswire.Error {
	return &awswire.Error{Type: f.Type, Code: f.Code, Status: f.Status, Message: message}
}

// errGone means that the client has disconnected.
var errGone = errors.New("the client is gone")

// wireError turns any error of an action into its wire form.
func (h *Handler) wireError(c *Call, err error) *awswire.Error {
	var refusal *queue.Error
	var wire *awswire.Error
	var denied *auth.Error
	switch {
	case errors.As(err, &wire):
		return wire
	case errors.As(err, &refusal):
		return c.API.Refusal(c.Record.Protocol, refusal)
	case errors.As(err, &denied):
		return form(Coral+strings.TrimSuffix(denied.Code, "Exception")+"Exception", denied.Code, denied.Status).Error(denied.Message)
	}
	switch failure, text := service.FailureOf(err); failure {
	case service.OutcomeUnknown:
		return outcomeUnknown(c.API, text)
	case service.Unexpected:
	default:
		return Unavailable(text)
	}
	h.Logger.Error("a request failed with an unexpected error", "request_id", c.Record.ID, "action", c.Record.Action, "error", err)
	internal := InternalForm
	if c.API.Internal != "" {
		internal = form(c.API.Errors+c.API.Internal, c.API.Internal, http.StatusInternalServerError)
	}
	return internal.Error("An internal error occurred. See the log of the node for request " + c.Record.ID + ".")
}

// outcomeUnknown reports an uncertain outcome as such, not as a failure (decision 10). SDKs retry any
// 503. The code shows that the first try may have worked.
func outcomeUnknown(api *API, message string) *awswire.Error {
	return form(api.Errors+"OutcomeUnknown", "OutcomeUnknown", http.StatusServiceUnavailable).Error(message)
}

// Unavailable is a refusal that SDKs retry.
func Unavailable(message string) *awswire.Error {
	return form(Coral+"ServiceUnavailable", "ServiceUnavailable", http.StatusServiceUnavailable).Error(message)
}

// InvalidAction refuses an action that does not exist on this path.
func InvalidAction(name string) error {
	return form(Coral+"UnknownOperationException", "InvalidAction", http.StatusBadRequest).Error(
		"The action " + name + " is not valid for this endpoint.")
}

// notForNative refuses a request with the signature of a call of the native API.
func notForNative() error {
	return &auth.Error{
		Code: "SignatureDoesNotMatch", Status: http.StatusForbidden,
		Message: "The signature is one of a native call, and does not cover the body of this request.",
	}
}

func unknownTarget(target string) error {
	return form(Coral+"UnknownOperationException", "InvalidAction", http.StatusBadRequest).Error(
		"The header X-Amz-Target must name an action as AmazonSQS.<Action>, but was: " + target)
}

// onlyByLink refuses a change by an unsigned GET of a browser, which any page can cause.
func onlyByLink(name string) error {
	return form(Coral+"AccessDeniedException", "AccessDenied", http.StatusForbidden).Error(
		"A browser's unsigned GET request may not change anything, as " + name + " does. Use POST, or sign the request.")
}

func requestTooLarge() error {
	return form(Coral+"RequestEntityTooLargeException", "RequestEntityTooLarge", http.StatusRequestEntityTooLarge).Error(
		"The request body is longer than 8388608 bytes.")
}

// overBudget refuses a request that found no room in memory.
func overBudget() error {
	return Unavailable("Too many large requests are being read at the moment. Nothing was written, retry.")
}

// answerOverBudget replaces an answer that found no room in memory.
func answerOverBudget(api *API) error {
	return outcomeUnknown(api, "Too many large answers wait for their clients at the moment. The request was served, but its answer is "+
		"lost. "+
		"Retry it with the same deduplication id or attempt id.")
}

// requestTimeout ends a request whose body trickles in.
func requestTimeout() error {
	return form(Coral+"RequestTimeoutException", "RequestTimeout", http.StatusRequestTimeout).Error(
		"The request body did not arrive in time. Nothing was done.")
}

func unreadableBody() error {
	return form(Coral+"SerializationException", "SerializationException",
		http.StatusBadRequest).Error("The request body could not be read.")
}
