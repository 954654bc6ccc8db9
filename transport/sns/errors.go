package sns

import (
	"strconv"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

// model is the namespace of errors in JSON.
const model = "com.amazonaws.sns#"

func form(code string, status int) aws.Form {
	return aws.Form{Type: model + code, Code: code, Status: status}
}

// internalCode is the code of SNS for an error that the server did not expect.
const internalCode = "InternalError"

var internalForm = form(internalCode, 500)

// forms is the error table: one line per code of package queue that an action can cause.
var forms = map[refusal.Code]aws.Form{
	refusal.SNSInvalidParameter:          form("InvalidParameter", 400),
	refusal.ParameterValueInvalid:        form("ParameterValueInvalid", 400),
	refusal.NotFound:                     form("NotFound", 404),
	refusal.SNSResourceNotFound:          form("ResourceNotFound", 404),
	refusal.InvalidState:                 form("InvalidState", 400),
	refusal.TagLimitExceeded:             form("TagLimitExceeded", 400),
	refusal.TopicLimitExceeded:           form("TopicLimitExceeded", 403),
	refusal.SubscriptionLimitExceeded:    form("SubscriptionLimitExceeded", 403),
	refusal.RuleAlreadyExists:            form("RuleAlreadyExists", 400), // no action of SNS has rules
	refusal.RuleNotFound:                 form("RuleNotFound", 404),
	refusal.RuleLimitExceeded:            form("RuleLimitExceeded", 403),
	refusal.ReplayLimitExceeded:          form("ReplayLimitExceeded", 403),
	refusal.Throttled:                    form("Throttled", 429),
	refusal.RequestThrottled:             form("Throttling", 400),
	refusal.AuthorizationError:           form("AuthorizationError", 403),
	refusal.EmptyBatchRequest:            form("EmptyBatchRequest", 400),
	refusal.TooManyEntriesInBatchRequest: form("TooManyEntriesInBatchRequest", 400),
	refusal.BatchEntryIDsNotDistinct:     form("BatchEntryIdsNotDistinct", 400),
	refusal.InvalidBatchEntryID:          form("InvalidBatchEntryId", 400),
	refusal.BatchRequestTooLong:          form("BatchRequestTooLong", 400),
	refusal.EntityDisabled:               form("EntityDisabled", 403),
	refusal.QuotaExceeded:                form("QuotaExceeded", 403),
	// Package cluster reports this error of a repeated publish as an unknown outcome.
	refusal.UnsupportedOperation: internalForm,
}

func wireError(_ string, e *queue.Error) *awswire.Error {
	form, known := forms[e.Code]
	if !known {
		form = internalForm
	}
	return form.Error(e.Message)
}

// missing refuses a request without a required parameter.
func missing(parameter string) error {
	return refusal.SNSInvalid(parameter, " Reason: no value for required parameter")
}

// absent refuses an entry of a list without a required member; path is the name in SNS.
func absent(path string) error {
	return form("ValidationError", 400).Error("1 validation error detected: Value null at '" + path +
		"' failed to satisfy constraint: Member must not be null")
}

// tooFewElements refuses text that is no ARN.
func tooFewElements(parameter string, elements int) error {
	return refusal.SNSInvalid(parameter, " Reason: An ARN must have at least 6 elements, not ", strconv.Itoa(elements))
}
