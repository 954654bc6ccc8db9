package oracle

import (
	"fmt"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// CodeName is the name of a code on the wire, without the word Exception that
// some have there.
func CodeName(c queue.Code) string {
	switch c {
	case queue.QueueDoesNotExist:
		return "QueueDoesNotExist"
	case queue.QueueNameExists:
		return "QueueNameExists"
	case queue.QueueDeletedRecently:
		return "QueueDeletedRecently"
	case queue.PurgeQueueInProgress:
		return "PurgeQueueInProgress"
	case queue.ReceiptHandleIsInvalid:
		return "ReceiptHandleIsInvalid"
	case queue.MessageNotInflight:
		return "MessageNotInflight"
	case queue.OverLimit:
		return "OverLimit"
	case queue.InvalidAttributeName:
		return "InvalidAttributeName"
	case queue.InvalidAttributeValue:
		return "InvalidAttributeValue"
	case queue.InvalidMessageContents:
		return "InvalidMessageContents"
	case queue.EmptyBatchRequest:
		return "EmptyBatchRequest"
	case queue.TooManyEntriesInBatchRequest:
		return "TooManyEntriesInBatchRequest"
	case queue.BatchEntryIDsNotDistinct:
		return "BatchEntryIdsNotDistinct"
	case queue.InvalidBatchEntryID:
		return "InvalidBatchEntryId"
	case queue.BatchRequestTooLong:
		return "BatchRequestTooLong"
	case queue.UnsupportedOperation:
		return "UnsupportedOperation"
	case queue.ResourceNotFound:
		return "ResourceNotFound"
	case queue.InvalidParameterValue:
		return "InvalidParameterValue"
	case queue.MissingRequiredParameter:
		return "MissingRequiredParameter"
	case queue.RequestThrottled:
		return "RequestThrottled"
	case queue.InvalidFormatVersion:
		return "InvalidFormatVersion"
	case queue.InvalidClusterSetting:
		return "InvalidClusterSetting"
	default:
		return fmt.Sprintf("code %d", c)
	}
}

// Describe shows what the product answered instead of a result.
func Describe(e *queue.Error) string {
	if e == nil {
		return "success"
	}
	return CodeName(e.Code) + " " + fmt.Sprintf("%.300q", e.Message)
}

func describeModel(e *reference.Error) string {
	if e == nil {
		return "success"
	}
	if e.Text == "" {
		return e.Code + " (any text)"
	}
	return e.Code + " " + fmt.Sprintf("%.300q", e.Text)
}

// sameError: same code, and same text where the specification has one.
func sameError(want *reference.Error, got *queue.Error) bool {
	if want == nil || got == nil {
		return want == nil && got == nil
	}
	return want.Code == CodeName(got.Code) && (want.Text == "" || want.Text == got.Message)
}

func errorDifference(want *reference.Error, got *queue.Error) string {
	if sameError(want, got) {
		return ""
	}
	return fmt.Sprintf("product: %s\nmodel:   %s", Describe(got), describeModel(want))
}

// compareEntries compares what deletes and visibility changes were answered.
// The error of the only entry of a single action is the error of the call:
// whether the product reports it as the one or the other is the same to a
// client.
func compareEntries(batch bool, want Answer, result queue.Result, refusal *queue.Error) *Difference {
	done, isDone := result.(queue.EntriesDone)
	if !batch {
		err := want.Err
		if err == nil {
			err = want.Entries[0]
		}
		if refusal == nil && isDone && len(done.Errs) == 1 {
			refusal = done.Errs[0]
		}
		return differ("I7", errorDifference(err, refusal))
	}
	if text := errorDifference(want.Err, refusal); text != "" || want.Err != nil {
		return differ("I7", text)
	}
	if !isDone || len(done.Errs) != len(want.Entries) {
		return differ("I7", fmt.Sprintf("product answered %T %+v for %d entries", result, result, len(want.Entries)))
	}
	for i, e := range want.Entries {
		if text := errorDifference(e, done.Errs[i]); text != "" {
			return differ("I7", fmt.Sprintf("entry %d\n%s", i, text))
		}
	}
	return nil
}

// CodeOf is the code of a name on the wire, with or without the word Exception;
// false if the model knows none.
func CodeOf(name string) (queue.Code, bool) {
	name = strings.TrimSuffix(name, "Exception")
	for c := queue.Code(1); c < 1<<8-1; c++ {
		if CodeName(c) == name {
			return c, true
		}
	}
	return 0, false
}
