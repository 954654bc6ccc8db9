package native

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/transport/grpc/client"
)

// hints say what to do about a reason of the API.
var hints = map[string]string{
	"QueueDoesNotExist":          QueuesHint,
	"OutcomeUnknown":             UnknownHint,
	"RequestThrottled":           ThrottledHint,
	"Throttled":                  ThrottledHint,
	"MissingAuthenticationToken": KeyHint,
	"InvalidClientTokenId":       KeyHint,
	"SignatureDoesNotMatch":      KeyHint,
	"AccessDenied":               PolicyHint,
	"AuthorizationError":         PolicyHint,
	"NotFound":                   TopicsHint,
	"ResourceNotFound":           TopicsHint,
	"NoLeader":                   LeaderHint,
	"UnderPressure":              PressureHint,
	"UpgradeNeeded":              "seriatim upgrade status shows which nodes do not have the version that can do this",
	"SessionCannotBeLocked":      "seriatim group explain QUEUE SESSION says until when; seriatim group release takes it away",
	"SessionLockLost":            "accept it again: seriatim session accept QUEUE SESSION",
	"NoSessionAvailable":         "seriatim group list QUEUE shows the groups that have messages and what they wait for",
	"DeduplicationIdUnknown":     "it can be sent; where the DeduplicationScope of the queue is not queue, add --group or --partition-key",
	"MessageNotFound":            "it was enqueued under a new number, cancelled before, or never scheduled: seriatim msg peek QUEUE shows what there is",
}

// Hints for what a call over HTTP can meet as well.
const (
	KeyHint       = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to a key of the cluster; seriatim key create makes one"
	PolicyHint    = "seriatim policy put says what a user may do"
	QueuesHint    = "seriatim queue list shows the queues that exist"
	TopicsHint    = "seriatim topic list shows the topics that exist, seriatim topic subscriptions the subscriptions"
	ThrottledHint = "too many at a time: wait for what is under way, then try again"
	LeaderHint    = "a majority of the voters must run and reach each other's peer ports: seriatim cluster status shows which of them answer"
	PressureHint  = "receives and deletes go on; seriatim doctor says what is short, and what to do"
	UnknownHint   = "the request may or may not have taken effect: look before you repeat it"
	ReachHint     = "is the server running there? set --endpoint or SERIATIM_ENDPOINT to the client port of a node, or start one with: seriatim dev"
	// ManyHint is for several nodes of which none does what was asked.
	ManyHint = "at least one more than half of the voters must run and answer: start those that are down; seriatim cluster status asks a node that runs"
)

const (
	clientPortHint = "set --endpoint or SERIATIM_ENDPOINT to a client port, by default 9324"
	timeoutHint    = "raise --timeout; if that does not help the cluster may have no leader: seriatim status. A change may have taken effect: look before you repeat it"
)

// interruptedHint is also read by who only looked at something: which calls change anything is
// not known here.
const interruptedHint = "a change may have taken effect: look before you repeat it"

// brokenTexts are in the library's errors of connections that had come about, so that what was
// asked over them may have been done.
var brokenTexts = []string{"error reading from server", "keepalive ping failed", "the server is not reading"}

// throttled are the reasons of ResourceExhausted that are over by themselves; of the others
// something is full.
var throttled = []string{"RequestThrottled", "Throttled"}

// exitCodes are those of the API's codes.
var exitCodes = map[codes.Code]exit.Code{
	codes.NotFound: exit.NotFound, codes.DeadlineExceeded: exit.NotFound, // NoSessionAvailable
	codes.InvalidArgument: exit.Usage, codes.Unimplemented: exit.Usage,
	codes.Unauthenticated: exit.Denied, codes.PermissionDenied: exit.Denied,
	codes.Unavailable:        exit.Unavailable,
	codes.FailedPrecondition: exit.Conflict, codes.AlreadyExists: exit.Conflict, codes.Aborted: exit.Conflict, codes.ResourceExhausted: exit.Conflict,
}

// explain gives what a call returned its exit code and a hint. Errors that have a code
// stay as they are.
func explain(err error, nodes int) error {
	if _, coded := errors.AsType[*exit.Error](err); err == nil || coded {
		return err
	}
	code, text, reason := status.Code(err), status.Convert(err).Message(), client.Reason(err)
	if reason == "" {
		return unanswered(code, text, err, nodes)
	}
	failure, ofEntry := errors.AsType[*client.FailureError](err)
	if !ofEntry {
		failure = &client.FailureError{Code: code, Reason: reason, Message: text}
	}
	exitCode, known := exitCodes[failure.Code]
	switch {
	case slices.Contains(throttled, reason):
		exitCode = exit.Unavailable
	case strings.Contains(failure.Message, "already exists with different"): // of topics and subscriptions
		exitCode = exit.Conflict
	case !known:
		exitCode = exit.Failed
	}
	var shown error = failure
	if of, ok := errors.AsType[*identifiedError](err); ok {
		shown = fmt.Errorf("%w (request id %s)", failure, of.requestID)
	}
	return exit.New(exitCode, shown, hints[reason])
}

// unanswered explains an error that is not the server's.
func unanswered(code codes.Code, text string, err error, nodes int) error {
	broken := slices.ContainsFunc(brokenTexts, func(said string) bool { return strings.Contains(text, said) })
	unreached := strings.Contains(text, "connection error:") && !broken
	text, _, _ = strings.Cut(text, "\n")
	if _, inner, found := strings.Cut(text, "desc = "); found {
		text = strings.Trim(inner, `"`)
	}
	switch {
	case code == codes.Canceled:
		return exit.Interruption(interruptedHint)
	case code == codes.DeadlineExceeded:
		return exit.New(exit.Timeout, errors.New("no answer in time: "+text), timeoutHint)
	case code == codes.Unimplemented:
		return exit.New(exit.Usage, errors.New("the node does not serve this call: "+text), clientPortHint+"; if it is one, the node runs an older version")
	case code == codes.PermissionDenied || code == codes.Unauthenticated:
		return exit.New(exit.Denied, errors.New(text), "")
	case unreached && strings.Contains(text, "does not look like a TLS handshake"):
		return exit.New(exit.Unavailable, errors.New("the client port answers without TLS: "+text), "write it with http:// instead of https://")
	case unreached && (strings.Contains(text, "looked like an HTTP/1.1 header") || strings.Contains(text, "no application protocol")):
		return exit.New(exit.Usage, errors.New("that port does not serve this call"), clientPortHint)
	case unreached && strings.Contains(text, "x509:"):
		return exit.New(exit.Unavailable, errors.New("no secure connection: "+text), certificateHint(text))
	case unreached && nodes > 1:
		return exit.New(exit.Unavailable, fmt.Errorf("none of %d nodes answers at its client port; of the last one: %s", nodes, text), ManyHint)
	case unreached:
		return exit.New(exit.Unavailable, errors.New("cannot reach a client port: "+text), ReachHint)
	case code == codes.Unavailable:
		return exit.New(exit.Unavailable, errors.New("the node went away before it answered: "+text), UnknownHint)
	}
	return exit.New(exit.Failed, err, "")
}

// certificateHint says what to do about a certificate that was not accepted. The library gives
// the error as a text only.
func certificateHint(text string) string {
	switch {
	case strings.Contains(text, "unknown authority"):
		return "name the file with the certificate of its authority: --ca-file FILE"
	case strings.Contains(text, "is valid for"), strings.Contains(text, "not valid for any names"), strings.Contains(text, "cannot validate certificate for"):
		return "use a host name or address for which the certificate was issued"
	case strings.Contains(text, "expired or is not yet valid"):
		return "renew the certificate, unless the clock of this machine is wrong"
	}
	return ""
}
