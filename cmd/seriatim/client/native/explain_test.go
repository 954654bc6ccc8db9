package native

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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
		err := explain(status.Error(codes.Unavailable, `connection error: desc = "transport: authentication handshake failed: tls: failed to verify certificate: `+said+`"`))
		if exit.CodeOf(err) != exit.Unavailable || !strings.Contains(exit.HintOf(err), want) {
			t.Errorf("%s: exit code %d, hint %q", said, exit.CodeOf(err), exit.HintOf(err))
		}
	}
}

// Who is not known, or may not do it, hears what to do about that.
func TestDeniedHints(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{"MissingAuthenticationToken": "AWS_ACCESS_KEY_ID", "InvalidClientTokenId": "AWS_ACCESS_KEY_ID", "AccessDenied": "policy put"} {
		err := explain(&client.FailureError{Code: codes.PermissionDenied, Reason: reason, Message: "no"})
		if exit.CodeOf(err) != exit.Denied || !strings.Contains(exit.HintOf(err), want) {
			t.Errorf("%s: exit code %d, hint %q", reason, exit.CodeOf(err), exit.HintOf(err))
		}
	}
}
