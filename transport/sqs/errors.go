package sqs

import (
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

const (
	model = "com.amazonaws.sqs#"
	// legacy begins the query codes of the errors that SQS had first.
	legacy = "AWS.SimpleQueueService."
)

// form is a line's right side: type in JSON, code in Query, HTTP status.
func form(kind, code string, status int) aws.Form {
	return aws.Form{Type: kind, Code: code, Status: status}
}

// forms is the error table: one line per code of the domain. Traps worth a
// second look: type and code differ by the word Exception for the coral errors,
// and PurgeQueueInProgress is 403 (sqs.md 1.6). ReceiptHandleIsInvalid is 404 in
// both protocols: the model that AWS publishes says so for each of them.
var forms = map[queue.Code]aws.Form{
	queue.QueueDoesNotExist:            form(model+"QueueDoesNotExist", legacy+"NonExistentQueue", 400),
	queue.QueueNameExists:              form(model+"QueueNameExists", "QueueAlreadyExists", 400),
	queue.QueueDeletedRecently:         form(model+"QueueDeletedRecently", legacy+"QueueDeletedRecently", 400),
	queue.PurgeQueueInProgress:         form(model+"PurgeQueueInProgress", legacy+"PurgeQueueInProgress", 403),
	queue.ReceiptHandleIsInvalid:       form(model+"ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", 404),
	queue.MessageNotInflight:           form(model+"MessageNotInflight", legacy+"MessageNotInflight", 400),
	queue.OverLimit:                    form(model+"OverLimit", "OverLimit", 403),
	queue.InvalidAttributeName:         form(model+"InvalidAttributeName", "InvalidAttributeName", 400),
	queue.InvalidAttributeValue:        form(model+"InvalidAttributeValue", "InvalidAttributeValue", 400),
	queue.InvalidMessageContents:       form(model+"InvalidMessageContents", "InvalidMessageContents", 400),
	queue.EmptyBatchRequest:            form(model+"EmptyBatchRequest", legacy+"EmptyBatchRequest", 400),
	queue.TooManyEntriesInBatchRequest: form(model+"TooManyEntriesInBatchRequest", legacy+"TooManyEntriesInBatchRequest", 400),
	queue.BatchEntryIDsNotDistinct:     form(model+"BatchEntryIdsNotDistinct", legacy+"BatchEntryIdsNotDistinct", 400),
	queue.InvalidBatchEntryID:          form(model+"InvalidBatchEntryId", legacy+"InvalidBatchEntryId", 400),
	queue.BatchRequestTooLong:          form(model+"BatchRequestTooLong", legacy+"BatchRequestTooLong", 400),
	queue.UnsupportedOperation:         form(model+"UnsupportedOperation", legacy+"UnsupportedOperation", 400),
	queue.ResourceNotFound:             form(model+"ResourceNotFoundException", "ResourceNotFoundException", 404),
	queue.InvalidParameterValue:        form(aws.Coral+"InvalidParameterValueException", "InvalidParameterValue", 400),
	queue.MissingRequiredParameter:     form(aws.Coral+"MissingRequiredParameterException", "MissingParameter", 400),
	queue.RequestThrottled:             form(model+"RequestThrottled", "RequestThrottled", 403),
	// No action of this API can cause these two.
	queue.InvalidFormatVersion:  aws.InternalForm,
	queue.InvalidClusterSetting: aws.InternalForm,
}

// errDraining ends long polls when the node stops.
var errDraining = aws.Unavailable("This node is stopping. Nothing was received, retry on another node.")

// refusal turns a refusal of the domain into its wire form.
func refusal(protocol string, e *queue.Error) *awswire.Error {
	form, known := forms[e.Code]
	if !known {
		form = aws.InternalForm
	}
	message := e.Message
	if e.Code == queue.QueueDoesNotExist && protocol == aws.Query {
		// The one text that differs by protocol, recorded from AWS.
		message = "The specified queue does not exist for this wsdl version."
	}
	return form.Error(message)
}
