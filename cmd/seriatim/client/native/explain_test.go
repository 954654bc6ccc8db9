package native

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/transport/grpc/client"
)

// Each refusal has an exit code and a hint, and its text has the reason. Throttling and full resources
// have the same code of the API, but different exit codes.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]struct {
		code codes.Code
		exit exit.Code
		hint string
	}{
		"QueueDoesNotExist":          {codes.NotFound, exit.NotFound, QueuesHint},
		"ResourceNotFoundException":  {codes.NotFound, exit.NotFound, ""},
		"MissingAuthenticationToken": {codes.Unauthenticated, exit.Denied, keyHint},
		"InvalidClientTokenId":       {codes.Unauthenticated, exit.Denied, keyHint},
		"AccessDenied":               {codes.PermissionDenied, exit.Denied, PolicyHint},
		"AuthorizationError":         {codes.PermissionDenied, exit.Denied, PolicyHint},
		"QueueNameExists":            {codes.AlreadyExists, exit.Conflict, "seriatim queue show NAME prints its attributes"},
		"QueueDeletedRecently":       {codes.FailedPrecondition, exit.Conflict, cooldownHint},
		"PurgeQueueInProgress":       {codes.FailedPrecondition, exit.Conflict, cooldownHint},
		"InvalidParameterValue":      {codes.InvalidArgument, exit.Usage, ""},
		"NoLeader":                   {codes.Unavailable, exit.Unavailable, LeaderHint},
		"UnderPressure":              {codes.Unavailable, exit.Unavailable, PressureHint},
		"RequestThrottled":           {codes.ResourceExhausted, exit.Unavailable, throttledHint},
		"Throttled":                  {codes.ResourceExhausted, exit.Unavailable, throttledHint},
		"OverLimit":                  {codes.ResourceExhausted, exit.Conflict, ""},
		"InternalFailure":            {codes.Internal, exit.Failed, ""},
	} {
		err := explain(&client.FailureError{Code: want.code, Reason: reason, Message: "text"}, "", 1)
		if exit.CodeOf(err) != want.exit || exit.HintOf(err) != want.hint || err.Error() != reason+": text" {
			t.Errorf("%s exits with %d: %v, hint %q", reason, exit.CodeOf(err), err, exit.HintOf(err))
		}
	}
}

// The hint fits the exceeded limit.
func TestLimitHints(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"The maximum number of in flight messages is reached: 120000.": "in flight",
		"The account has 1 queues, and its quota is 1.":                "seriatim account quota",
		"The quota of the account is exhausted: it has 5 messages of ": "seriatim account quota",
		"The policy would be longer than 8192 bytes.":                  "",
	} {
		got := exit.HintOf(explain(&client.FailureError{Code: codes.ResourceExhausted, Reason: "OverLimit", Message: message}, "", 1))
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s\nhint %q, want %q in it", message, got, want)
		}
	}
}

// What is wrong with a certificate decides what helps.
func TestCertificateHints(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"x509: certificate signed by unknown authority":                                            "--ca-file",
		"x509: certificate is valid for n1, not n2":                                                "host name",
		"x509: certificate is not valid for any names, but wanted to match n2":                     "host name",
		"x509: cannot validate certificate for 10.0.0.1 because it doesn't contain any IP SANs":    "host name",
		"x509: certificate has expired or is not yet valid: current time 2026-11-25 is after 2025": "clock",
	} {
		err := explain(status.Error(codes.Unavailable,
			`connection error: desc = "transport: authentication handshake failed: tls: failed to verify certificate: `+said+`"`), "", 1)
		if exit.CodeOf(err) != exit.Unavailable || !strings.Contains(exit.HintOf(err), want) {
			t.Errorf("%s: exit code %d, hint %q", said, exit.CodeOf(err), exit.HintOf(err))
		}
	}
}

// The hint for a denial says how to get access.
func TestDeniedHints(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{"MissingAuthenticationToken": "AWS_ACCESS_KEY_ID",
		"InvalidClientTokenId": "AWS_ACCESS_KEY_ID", "AccessDenied": "policy put", "AuthorizationError": "policy put"} {
		err := explain(&client.FailureError{Code: codes.PermissionDenied, Reason: reason, Message: "no"}, "", 1)
		if exit.CodeOf(err) != exit.Denied || !strings.Contains(exit.HintOf(err), want) {
			t.Errorf("%s: exit code %d, hint %q", reason, exit.CodeOf(err), exit.HintOf(err))
		}
	}
}

// If a connection breaks during a call, the outcome is unknown. If no connection was made, nothing
// was executed.
func TestBrokenConnection(t *testing.T) {
	t.Parallel()
	for said, unknown := range map[string]bool{
		`connection error: desc = "error reading from server: EOF"`:                                                                  true,
		`connection error: desc = "error reading from server: read tcp 127.0.0.1:1->127.0.0.1:2: read: connection reset by peer"`:    true,
		`closing transport due to: connection error: desc = "error reading from server: EOF", received prior goaway: code: NO_ERROR`: true,
		`connection error: desc = "keepalive ping failed to receive ACK within timeout"`:                                             true,
		`connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`:               false,
		`last connection error: connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: i/o timeout"`:        false,
		`connection error: desc = "error reading server preface: EOF"`:                                                               false,
	} {
		err := explain(status.Error(codes.Unavailable, said), "", 1)
		if exit.CodeOf(err) != exit.Unavailable || (exit.HintOf(err) == UnknownHint) != unknown {
			t.Errorf("%s: exit code %d, hint %q", said, exit.CodeOf(err), exit.HintOf(err))
		}
	}
}

// After an interruption the hint warns that a change may have taken effect.
func TestInterruptedCall(t *testing.T) {
	t.Parallel()
	err := explain(status.FromContextError(context.Canceled).Err(), "", 1)
	if exit.CodeOf(err) != exit.Interrupted || !strings.Contains(exit.HintOf(err), "may have taken effect") {
		t.Errorf("exit code %d, hint %q", exit.CodeOf(err), exit.HintOf(err))
	}
}

// If none of several nodes answers, the hint is not to start one of them: the cluster may lack a
// majority.
func TestSeveralNodesThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	refused := status.Error(codes.Unavailable,
		`connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`)
	if err := explain(refused, "", 3); exit.HintOf(err) != ManyHint || !strings.Contains(err.Error(), "none of 3 nodes") {
		t.Errorf("%v, hint %q", err, exit.HintOf(err))
	}
	if err := explain(refused, "", 1); exit.HintOf(err) != reachHint {
		t.Errorf("%v, hint %q", err, exit.HintOf(err))
	}
}
