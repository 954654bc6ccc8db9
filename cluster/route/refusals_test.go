package route

import (
	"errors"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/fsm"
)

// A command of a later format is refused with what is in force and what to do. It is no failure
// of unknown outcome.
func TestUpgradeNeeded(t *testing.T) {
	rt := New(Node{Replica: fsm.New(fsm.Options{})})
	err := rt.upgradeNeeded(&request{minimumVersion: 2}, "")
	if text := err.Error(); !strings.Contains(text, "needs format version 2 and version 0 is in force") ||
		!strings.Contains(text, "seriatim upgrade finalize") || !strings.Contains(text, "nothing was written") {
		t.Error(text)
	}
	if !errors.Is(err, fault.ErrUnavailable) || errors.Is(err, fault.ErrOutcomeUnknown) {
		t.Errorf("%v is of the wrong kind", err)
	}
	if text := rt.upgradeNeeded(&request{}, "a member is too old").Reason; text != "a member is too old" {
		t.Error(text)
	}
}
