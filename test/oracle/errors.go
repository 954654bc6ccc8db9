package oracle

import (
	"fmt"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/test/oracle/reference"
)

// codeNames contains the names of the codes on the wire, without the suffix Exception that some
// have there.
var codeNames = map[refusal.Code]string{
	refusal.QueueDoesNotExist:            "QueueDoesNotExist",
	refusal.QueueNameExists:              "QueueNameExists",
	refusal.QueueDeletedRecently:         "QueueDeletedRecently",
	refusal.PurgeQueueInProgress:         "PurgeQueueInProgress",
	refusal.ReceiptHandleIsInvalid:       "ReceiptHandleIsInvalid",
	refusal.MessageNotInflight:           "MessageNotInflight",
	refusal.OverLimit:                    "OverLimit",
	refusal.InvalidAttributeName:         "InvalidAttributeName",
	refusal.InvalidAttributeValue:        "InvalidAttributeValue",
	refusal.InvalidMessageContents:       "InvalidMessageContents",
	refusal.EmptyBatchRequest:            "EmptyBatchRequest",
	refusal.TooManyEntriesInBatchRequest: "TooManyEntriesInBatchRequest",
	refusal.BatchEntryIDsNotDistinct:     "BatchEntryIdsNotDistinct",
	refusal.InvalidBatchEntryID:          "InvalidBatchEntryId",
	refusal.BatchRequestTooLong:          "BatchRequestTooLong",
	refusal.UnsupportedOperation:         "UnsupportedOperation",
	refusal.ResourceNotFound:             "ResourceNotFound",
	refusal.InvalidParameterValue:        "InvalidParameterValue",
	refusal.MissingRequiredParameter:     "MissingRequiredParameter",
	refusal.RequestThrottled:             "RequestThrottled",
	refusal.InvalidFormatVersion:         "InvalidFormatVersion",
	refusal.InvalidClusterSetting:        "InvalidClusterSetting",
	refusal.SNSInvalidParameter:          "InvalidParameter",
	refusal.TagLimitExceeded:             "TagLimitExceeded",
	refusal.NotFound:                     "NotFound",
	refusal.SNSResourceNotFound:          "ResourceNotFound (SNS)",
	refusal.InvalidState:                 "InvalidState",
	refusal.TopicLimitExceeded:           "TopicLimitExceeded",
	refusal.SubscriptionLimitExceeded:    "SubscriptionLimitExceeded",
	refusal.ReplayLimitExceeded:          "ReplayLimitExceeded",
	refusal.RuleAlreadyExists:            "RuleAlreadyExists",
	refusal.RuleNotFound:                 "RuleNotFound",
	refusal.RuleLimitExceeded:            "RuleLimitExceeded",
	refusal.Throttled:                    "Throttled",
	refusal.AuthorizationError:           "AuthorizationError",
	refusal.ParameterValueInvalid:        "ParameterValueInvalid",
	refusal.MessageNotFound:              "MessageNotFound",
	refusal.MessageLockLost:              "MessageLockLost",
	refusal.SessionCannotBeLocked:        "SessionCannotBeLocked",
	refusal.SessionLockLost:              "SessionLockLost",
	refusal.DeduplicationIDUnknown:       "DeduplicationIDUnknown",
	refusal.MessageInFlight:              "MessageInFlight",
	refusal.EntityDisabled:               "EntityDisabled",
	refusal.QuotaExceeded:                "QuotaExceeded",
	refusal.NoSuchEntity:                 "NoSuchEntity",
	refusal.EntityAlreadyExists:          "EntityAlreadyExists",
	refusal.MalformedPolicyDocument:      "MalformedPolicyDocument",
	refusal.LimitExceeded:                "LimitExceeded",
	refusal.IAMInvalidInput:              "InvalidInput",
	refusal.DeleteConflict:               "DeleteConflict",
}

// CodeName returns the name of a code on the wire.
func CodeName(c refusal.Code) string {
	if name, known := codeNames[c]; known {
		return name
	}
	return fmt.Sprintf("code %d", c)
}

// Describe formats the error of the product.
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

// sameError reports whether two errors have the same code, and the same text if the specification
// has one.
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

// compareEntries compares the answers to deletes and visibility changes. The error of a single
// action may be reported as that of its only entry or of the call: a client sees no difference.
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

// CodeOf returns the code for a name on the wire, with or without the suffix Exception, and false
// if the model knows none.
func CodeOf(name string) (refusal.Code, bool) {
	name = strings.TrimSuffix(name, "Exception")
	for c := refusal.Code(1); c < 1<<8-1; c++ {
		if CodeName(c) == name {
			return c, true
		}
	}
	return 0, false
}
