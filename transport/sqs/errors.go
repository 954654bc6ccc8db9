package sqs

import (
	"errors"
	"net/http"
	"strings"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/awswire"
)

const (
	model = "com.amazonaws.sqs#"
	coral = "com.amazon.coral.service#"
	// legacy begins the query codes of the errors that SQS had first.
	legacy = "AWS.SimpleQueueService."
)

// wireForm is how a domain error looks on the wire.
type wireForm struct {
	Type   string
	Code   string
	Status int
}

// wireForms is the error table: one line per code of the domain. Traps worth a
// second look: type and code differ by the word Exception for the coral errors,
// and PurgeQueueInProgress is 403 (sqs.md 1.6). ReceiptHandleIsInvalid is 404 in
// both protocols: the model that AWS publishes says so for each of them.
var wireForms = map[queue.Code]wireForm{
	queue.QueueDoesNotExist:            {model + "QueueDoesNotExist", legacy + "NonExistentQueue", 400},
	queue.QueueNameExists:              {model + "QueueNameExists", "QueueAlreadyExists", 400},
	queue.QueueDeletedRecently:         {model + "QueueDeletedRecently", legacy + "QueueDeletedRecently", 400},
	queue.PurgeQueueInProgress:         {model + "PurgeQueueInProgress", legacy + "PurgeQueueInProgress", 403},
	queue.ReceiptHandleIsInvalid:       {model + "ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", 404},
	queue.MessageNotInflight:           {model + "MessageNotInflight", legacy + "MessageNotInflight", 400},
	queue.OverLimit:                    {model + "OverLimit", "OverLimit", 403},
	queue.InvalidAttributeName:         {model + "InvalidAttributeName", "InvalidAttributeName", 400},
	queue.InvalidAttributeValue:        {model + "InvalidAttributeValue", "InvalidAttributeValue", 400},
	queue.InvalidMessageContents:       {model + "InvalidMessageContents", "InvalidMessageContents", 400},
	queue.EmptyBatchRequest:            {model + "EmptyBatchRequest", legacy + "EmptyBatchRequest", 400},
	queue.TooManyEntriesInBatchRequest: {model + "TooManyEntriesInBatchRequest", legacy + "TooManyEntriesInBatchRequest", 400},
	queue.BatchEntryIDsNotDistinct:     {model + "BatchEntryIdsNotDistinct", legacy + "BatchEntryIdsNotDistinct", 400},
	queue.InvalidBatchEntryID:          {model + "InvalidBatchEntryId", legacy + "InvalidBatchEntryId", 400},
	queue.BatchRequestTooLong:          {model + "BatchRequestTooLong", legacy + "BatchRequestTooLong", 400},
	queue.UnsupportedOperation:         {model + "UnsupportedOperation", legacy + "UnsupportedOperation", 400},
	queue.ResourceNotFound:             {model + "ResourceNotFoundException", "ResourceNotFoundException", 404},
	queue.InvalidParameterValue:        {coral + "InvalidParameterValueException", "InvalidParameterValue", 400},
	queue.MissingRequiredParameter:     {coral + "MissingRequiredParameterException", "MissingParameter", 400},
	queue.RequestThrottled:             {model + "RequestThrottled", "RequestThrottled", 403},
	// No action of this API can cause these two.
	queue.InvalidFormatVersion:  internalForm,
	queue.InvalidClusterSetting: internalForm,
}

var internalForm = wireForm{coral + "InternalFailure", "InternalFailure", http.StatusInternalServerError}

// errGone says that nobody waits for the answer any more.
var errGone = errors.New("the client is gone")

// errDraining ends long polls when the node stops.
var errDraining = &awswire.Error{Type: coral + "ServiceUnavailable", Code: "ServiceUnavailable",
	Status: http.StatusServiceUnavailable, Message: "This node is stopping. Nothing was received, retry on another node."}

// wireError turns any error of an action into its wire form.
func (s *Service) wireError(c *call, err error) *awswire.Error {
	var refusal *queue.Error
	var wire *awswire.Error
	var denied *auth.Error
	var pressure *cluster.PressureError
	switch {
	case errors.As(err, &wire):
		return wire
	case errors.As(err, &refusal):
		return domainError(c.record.Protocol, refusal)
	case errors.As(err, &denied):
		return &awswire.Error{Type: coral + strings.TrimSuffix(denied.Code, "Exception") + "Exception", Code: denied.Code,
			Status: denied.Status, Message: denied.Message}
	case errors.Is(err, cluster.ErrOutcomeUnknown):
		// Decision 10: unknown is not failed. SDKs retry any 503, and the
		// code tells those who look that the first try may have worked.
		return &awswire.Error{Type: model + "OutcomeUnknown", Code: "OutcomeUnknown", Status: http.StatusServiceUnavailable,
			Message: "The outcome of this request is unknown: it may or may not have taken effect. Retry it with the same deduplication id or attempt id."}
	case errors.As(err, &pressure):
		return unavailable("Sends are refused at the moment: " + pressure.Reason + ". Receives and deletes go on. Nothing was written, retry later.")
	case errors.Is(err, cluster.ErrOverloaded):
		return unavailable("Reduce your request rate: too many requests are waiting to be written. Nothing was written.")
	case errors.Is(err, cluster.ErrUnavailable), errors.Is(err, cluster.ErrNotLeader):
		return unavailable("The cluster has no leader at the moment. Nothing was written, retry.")
	}
	s.Logger.Error("a request failed with an unexpected error", "request_id", c.record.ID, "action", c.record.Action, "error", err)
	return &awswire.Error{Type: internalForm.Type, Code: internalForm.Code, Status: internalForm.Status,
		Message: "An internal error occurred. See the log of the node for request " + c.record.ID + "."}
}

func domainError(protocol string, e *queue.Error) *awswire.Error {
	form, known := wireForms[e.Code]
	if !known {
		form = internalForm
	}
	message := e.Message
	if e.Code == queue.QueueDoesNotExist && protocol == protocolQuery {
		// The one text that differs by protocol, recorded from AWS.
		message = "The specified queue does not exist for this wsdl version."
	}
	return &awswire.Error{Type: form.Type, Code: form.Code, Status: form.Status, Message: message}
}

func unavailable(message string) *awswire.Error {
	return &awswire.Error{Type: coral + "ServiceUnavailable", Code: "ServiceUnavailable",
		Status: http.StatusServiceUnavailable, Message: message}
}

func invalidAction(name string) error {
	return &awswire.Error{Type: coral + "UnknownOperationException", Code: "InvalidAction", Status: http.StatusBadRequest,
		Message: "The action " + name + " is not valid for this endpoint."}
}

// onlyByLink refuses what a browser was made to ask for.
func onlyByLink(name string) error {
	return &awswire.Error{Type: coral + "AccessDeniedException", Code: "AccessDenied", Status: http.StatusForbidden,
		Message: "A browser's unsigned GET request may not change anything, as " + name + " does. Use POST, or sign the request."}
}

func unknownTarget(target string) error {
	return &awswire.Error{Type: coral + "UnknownOperationException", Code: "InvalidAction", Status: http.StatusBadRequest,
		Message: "The header X-Amz-Target must name an action as AmazonSQS.<Action>, but was: " + target}
}

func requestTooLarge() error {
	return &awswire.Error{Type: coral + "RequestEntityTooLargeException", Code: "RequestEntityTooLarge",
		Status: http.StatusRequestEntityTooLarge, Message: "The request body is longer than 8388608 bytes."}
}

// overBudget refuses a request that found no room in memory.
func overBudget() error {
	return unavailable("Too many large requests are being read at the moment. Nothing was written, retry.")
}

// answerOverBudget replaces an answer that found no room in memory.
func answerOverBudget() error {
	return &awswire.Error{Type: model + "OutcomeUnknown", Code: "OutcomeUnknown", Status: http.StatusServiceUnavailable,
		Message: "Too many large answers wait for their clients at the moment. The request was served, but its answer is lost. Retry it with the same deduplication id or attempt id."}
}

// requestTimeout ends a request whose body trickles in.
func requestTimeout() error {
	return &awswire.Error{Type: coral + "RequestTimeoutException", Code: "RequestTimeout",
		Status: http.StatusRequestTimeout, Message: "The request body did not arrive in time. Nothing was done."}
}

func unreadableBody() error {
	return &awswire.Error{Type: coral + "SerializationException", Code: "SerializationException",
		Status: http.StatusBadRequest, Message: "The request body could not be read."}
}

func noSuchQueue() *queue.Error {
	return &queue.Error{Code: queue.QueueDoesNotExist, Message: "The specified queue does not exist."}
}

func missingParameter(name string) *queue.Error {
	return &queue.Error{Code: queue.MissingRequiredParameter, Message: "The request must contain the parameter " + name + "."}
}

func invalidParameter(message string) *queue.Error {
	return &queue.Error{Code: queue.InvalidParameterValue, Message: message}
}

func invalidValue(value, name, reason string) *queue.Error {
	return invalidParameter("Value " + value + " for parameter " + name + " is invalid. Reason: " + reason)
}

func unknownAttribute(name string) *queue.Error {
	return &queue.Error{Code: queue.InvalidAttributeName, Message: "Unknown Attribute " + name + "."}
}
