package codec

import (
	"errors"
	"testing"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/fsmpb"
)

func TestAuditWithShortHashesIsRefused(t *testing.T) {
	for _, report := range []*fsmpb.AuditReport{
		{NodeId: "a", State: make([]byte, 15), Chain: make([]byte, 16)},
		{NodeId: "a", State: make([]byte, 16)},
	} {
		if _, err := auditCommand(&fsmpb.Audit{Reports: []*fsmpb.AuditReport{report}}); !errors.Is(err, format.ErrMalformed) {
			t.Errorf("%v: got %v", report, err)
		}
	}
}
