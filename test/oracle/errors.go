package oracle

import (
	"fmt"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// CodeName is the name of a code on the wire, without the word Exception that
// some have there.
func CodeName(c refusal.Code) string {
	switch c {
	case refusal.QueueDoesNotExist:
		return "QueueDoesNotExist"
	case refusal.QueueNameExists:
		return "QueueNameExists"
	case refusal.QueueDeletedRecently:
		return "QueueDeletedRecently"
	case refusal.PurgeQueueInProgress:
		return "PurgeQueueInProgress"
	case refusal.ReceiptHandleIsInvalid:
		return "ReceiptHandleIsInvalid"
	case refusal.MessageNotInflight:
		return "MessageNotInflight"
	case refusal.OverLimit:
		return "OverLimit"
	case refusal.InvalidAttributeName:
		return "InvalidAttributeName"
	case refusal.InvalidAttributeValue:
		return "InvalidAttributeValue"
	case refusal.InvalidMessageContents:
		return "InvalidMessageContents"
	case refusal.EmptyBatchRequest:
		return "EmptyBatchRequest"
	case refusal.TooManyEntriesInBatchRequest:
		return "TooManyEntriesInBatchRequest"
	case refusal.BatchEntryIDsNotDistinct:
		return "BatchEntryIdsNotDistinct"
	case refusal.InvalidBatchEntryID:
		return "InvalidBatchEntryId"
	case refusal.BatchRequestTooLong:
		return "BatchRequestTooLong"
	case refusal.UnsupportedOperation:
		return "UnsupportedOperation"
	case refusal.ResourceNotFound:
		return "ResourceNotFound"
	case refusal.InvalidParameterValue:
		return "InvalidParameterValue"
	case refusal.MissingRequiredParameter:
		return "MissingRequiredParameter"
	case refusal.RequestThrottled:
		return "RequestThrottled"
	case refusal.InvalidFormatVersion:
		return "InvalidFormatVersion"
	case refusal.InvalidClusterSetting:
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
func compareEntries(batch bool, want Answer, result queue.Result, refused *queue.Error) *Difference {
	done, isDone := result.(queue.EntriesDone)
	if !batch {
		err := want.Err
		if err == nil {
			err = want.Entries[0]
		}
		if refused == nil && isDone && len(done.Errs) == 1 {
			refused = done.Errs[0]
		}
		return differ("I7", errorDifference(err, refused))
	}
	if text := errorDifference(want.Err, refused); text != "" || want.Err != nil {
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
func CodeOf(name string) (refusal.Code, bool) {
	name = strings.TrimSuffix(name, "Exception")
	for c := refusal.Code(1); c < 1<<8-1; c++ {
		if CodeName(c) == name {
			return c, true
		}
	}
	return 0, false
}
