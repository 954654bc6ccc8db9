package grpc

import (
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// The manual has the table of errors that the code has.
func TestManual(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/grpc.md")
	clustertest.Must(t, err)
	_, table, _ := strings.Cut(string(text), "| --- | --- | --- |\n")
	listed := map[string]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			break
		}
		listed[strings.Trim(cells[1], " `")] = strings.TrimSpace(cells[2])
	}
	want := map[string]codes.Code{
		reasonOutcomeUnknown: codes.Unavailable, reasonUnderPressure: codes.Unavailable, reasonOverloaded: codes.Unavailable,
		reasonNoLeader: codes.Unavailable, reasonDraining: codes.Unavailable, reasonUpgradeNeeded: codes.FailedPrecondition,
		reasonNotReached: codes.Unavailable, reasonInternal: codes.Internal,
		reasonNoSession: codes.DeadlineExceeded,
	}
	for _, code := range everyCode() {
		want[failures[code].reason] = failures[code].code
	}
	names := map[codes.Code]string{
		codes.Unavailable: "UNAVAILABLE", codes.Internal: "INTERNAL", codes.NotFound: "NOT_FOUND", codes.AlreadyExists: "ALREADY_EXISTS",
		codes.Aborted: "ABORTED", codes.DeadlineExceeded: "DEADLINE_EXCEEDED", codes.FailedPrecondition: "FAILED_PRECONDITION",
		codes.InvalidArgument: "INVALID_ARGUMENT", codes.ResourceExhausted: "RESOURCE_EXHAUSTED",
		codes.PermissionDenied: "PERMISSION_DENIED",
	}
	for reason, code := range want {
		if listed[reason] != names[code] {
			t.Errorf("%s is %q in the manual, want %s", reason, listed[reason], names[code])
		}
	}
	if len(listed) != len(want) {
		t.Errorf("the manual lists %d reasons, the code has %d", len(listed), len(want))
	}
}
