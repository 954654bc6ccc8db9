package sqs

import (
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

const (
	model = "com.amazonaws.sqs#"
	// legacy is the prefix of the Query codes of the oldest errors of SQS.
	legacy = "AWS.SimpleQueueService."
)

// form returns the wire form of an error: type in JSON, code in Query, HTTP status.
func form(kind, code string, status int) aws.Form {
	return aws.Form{Type: kind, Code: code, Status: status}
}

// forms is the error table: one line per code of package queue. Type and code of the coral errors
// differ by the word Exception, and PurgeQueueInProgress is 403 (sqs.md 1.6). ReceiptHandleIsInvalid
// is 404 in both protocols, as in the published model of AWS.
var forms = map[refusal.Code]aws.Form{
	refusal.QueueDoesNotExist:            form(model+"QueueDoesNotExist", legacy+"NonExistentQueue", 400),
	refusal.QueueNameExists:              form(model+"QueueNameExists", "QueueAlreadyExists", 400),
	refusal.QueueDeletedRecently:         form(model+"QueueDeletedRecently", legacy+"QueueDeletedRecently", 400),
	refusal.PurgeQueueInProgress:         form(model+"PurgeQueueInProgress", legacy+"PurgeQueueInProgress", 403),
	refusal.ReceiptHandleIsInvalid:       form(model+"ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", 404),
	refusal.MessageNotInflight:           form(model+"MessageNotInflight", legacy+"MessageNotInflight", 400),
	refusal.OverLimit:                    form(model+"OverLimit", "OverLimit", 403),
	refusal.InvalidAttributeName:         form(model+"InvalidAttributeName", "InvalidAttributeName", 400),
	refusal.InvalidAttributeValue:        form(model+"InvalidAttributeValue", "InvalidAttributeValue", 400),
	refusal.InvalidMessageContents:       form(model+"InvalidMessageContents", "InvalidMessageContents", 400),
	refusal.EmptyBatchRequest:            form(model+"EmptyBatchRequest", legacy+"EmptyBatchRequest", 400),
	refusal.TooManyEntriesInBatchRequest: form(model+"TooManyEntriesInBatchRequest", legacy+"TooManyEntriesInBatchRequest", 400),
	refusal.BatchEntryIDsNotDistinct:     form(model+"BatchEntryIdsNotDistinct", legacy+"BatchEntryIdsNotDistinct", 400),
	refusal.InvalidBatchEntryID:          form(model+"InvalidBatchEntryId", legacy+"InvalidBatchEntryId", 400),
	refusal.BatchRequestTooLong:          form(model+"BatchRequestTooLong", legacy+"BatchRequestTooLong", 400),
	refusal.UnsupportedOperation:         form(model+"UnsupportedOperation", legacy+"UnsupportedOperation", 400),
	refusal.ResourceNotFound:             form(model+"ResourceNotFoundException", "ResourceNotFoundException", 404),
	refusal.InvalidParameterValue:        form(aws.Coral+"InvalidParameterValueException", "InvalidParameterValue", 400),
	refusal.MissingRequiredParameter:     form(aws.Coral+"MissingRequiredParameterException", "MissingParameter", 400),
	refusal.RequestThrottled:             form(model+"RequestThrottled", "RequestThrottled", 403),
	refusal.EntityDisabled:               form(model+"EntityDisabled", "EntityDisabled", 403),
	refusal.QuotaExceeded:                form(model+"QuotaExceeded", "QuotaExceeded", 403),
	// No action of this API can cause these two.
	refusal.InvalidFormatVersion:  aws.InternalForm,
	refusal.InvalidClusterSetting: aws.InternalForm,
}

// errDraining ends long polls when the node stops.
var errDraining = aws.Unavailable("This node is stopping. Nothing was received, retry on another node.")

func wireError(protocol string, e *queue.Error) *awswire.Error {
	form, known := forms[e.Code]
	if !known {
		form = aws.InternalForm
	}
	message := e.Message
	if e.Code == refusal.QueueDoesNotExist && protocol == aws.Query {
		// The one text that differs by protocol, recorded from AWS.
		message = "The specified queue does not exist for this wsdl version."
	}
	return form.Error(message)
}
