package native

import (
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/transport/grpc/client"
)

// What is over by itself is told from what is full, although the API has one code for both.
func TestExhausted(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]exit.Code{"RequestThrottled": exit.Unavailable, "Throttled": exit.Unavailable, "OverLimit": exit.Conflict} {
		err := explain(&client.FailureError{Code: codes.ResourceExhausted, Reason: reason, Message: "later"})
		if exit.CodeOf(err) != want {
			t.Errorf("%s exits with %d, want %d", reason, exit.CodeOf(err), want)
		}
	}
}
