// Package refusaltest compares errors in tests.
package refusaltest

import (
	"testing"

	"github.com/seriatimq/seriatim/queue/refusal"
)

// Want compares an error with a code and text; an empty text means no error.
func Want(t *testing.T, err *refusal.Error, code refusal.Code, text string) {
	t.Helper()
	switch {
	case text == "" && err != nil:
		t.Errorf("unexpected error %d %q", err.Code, err.Message)
	case text != "" && err == nil:
		t.Errorf("no error, want %q", text)
	case text != "" && (err.Code != code || err.Message != text):
		t.Errorf("error %d %q,\nwant  %d %q", err.Code, err.Message, code, text)
	}
}
