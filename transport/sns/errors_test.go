package sns

import (
	"net/http"
	"testing"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
)

// A code without an error of SNS, or one that clients must not see, is answered as an internal
// error.
func TestErrors(t *testing.T) {
	t.Parallel()
	for code, want := range map[refusal.Code]struct { // order does not matter
		code   string
		status int
	}{
		refusal.SNSInvalidParameter:  {"InvalidParameter", http.StatusBadRequest},
		refusal.NotFound:             {"NotFound", http.StatusNotFound},
		refusal.SNSResourceNotFound:  {"ResourceNotFound", http.StatusNotFound},
		refusal.TopicLimitExceeded:   {"TopicLimitExceeded", http.StatusForbidden},
		refusal.ReplayLimitExceeded:  {"ReplayLimitExceeded", http.StatusForbidden},
		refusal.Throttled:            {"Throttled", http.StatusTooManyRequests},
		refusal.AuthorizationError:   {"AuthorizationError", http.StatusForbidden},
		refusal.UnsupportedOperation: {"InternalError", http.StatusInternalServerError},
		refusal.InvalidFormatVersion: {"InternalError", http.StatusInternalServerError},
	} {
		got := wireError(aws.Query, &queue.Error{Code: code, Message: "text"})
		if got.Code != want.code || got.Status != want.status || got.Message != "text" {
			t.Errorf("%d: %+v, want %+v", code, got, want)
		}
	}
}

// TestActions checks that the table is sorted and has no duplicates, and that each permission has
// the name of its action, except for the batch.
func TestActions(t *testing.T) {
	t.Parallel()
	last := ""
	for _, a := range API().Actions {
		if a.Name <= last {
			t.Errorf("%s comes after %s", a.Name, last)
		}
		last = a.Name
		if a.Permission != "sns:"+a.Name && a.Name != "PublishBatch" {
			t.Errorf("%s needs %s", a.Name, a.Permission)
		}
	}
}
