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

// hints holds the hint for each reason of the API.
var hints = map[string]string{
	"QueueDoesNotExist":          QueuesHint,
	"QueueNameExists":            "seriatim queue show NAME prints its attributes",
	"QueueDeletedRecently":       cooldownHint,
	"PurgeQueueInProgress":       cooldownHint,
	"OutcomeUnknown":             UnknownHint + ", or use a deduplication id or attempt id, which make repeating safe",
	"RequestThrottled":           throttledHint,
	"Throttled":                  throttledHint,
	"MissingAuthenticationToken": keyHint,
	"InvalidClientTokenId":       keyHint,
	"SignatureDoesNotMatch":      keyHint,
	"AccessDenied":               PolicyHint,
	"AuthorizationError":         PolicyHint,
	"NotFound":                   topicsHint,
	"ResourceNotFound":           topicsHint,
	"NoLeader":                   LeaderHint,
	"UnderPressure":              PressureHint,
	"UpgradeNeeded":              "seriatim upgrade status shows the nodes with an older version",
	"SessionCannotBeLocked":      "seriatim group explain QUEUE SESSION shows the holder; seriatim group release takes the session away",
	"SessionLockLost":            "accept it again: seriatim session accept QUEUE SESSION",
	"NoSessionAvailable":         "seriatim group list QUEUE shows the groups that have messages, with their states",
	"DeduplicationIdUnknown":     "it can be sent; where the DeduplicationScope of the queue is not queue, add --group or --partition-key",
	"MessageNotFound": "it was enqueued or published under a new number, cancelled before, or never scheduled: see seriatim msg " +
		"peek QUEUE or seriatim topic scheduled TOPIC",
}

// Hints for errors that the admin port has, too.
const (
	PolicyHint   = "seriatim policy put changes the permissions of a user"
	QueuesHint   = "seriatim queue list shows the queues that exist"
	LeaderHint   = "a majority of the voters must run and reach each other's peer ports: see seriatim cluster status"
	PressureHint = "receives and deletes still work; seriatim doctor shows the missing resource and gives advice"
	UnknownHint  = "the request may or may not have taken effect: look before you repeat it"
	// ManyHint is for several nodes of which none answers.
	ManyHint = "a majority of the voters must run and answer: start the missing ones; seriatim cluster status asks a running node"
)

const (
	keyHint        = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to a key of the cluster; seriatim key create makes one"
	topicsHint     = "seriatim topic list shows the topics that exist, seriatim topic subscriptions the subscriptions"
	throttledHint  = "too many requests at a time: wait, then try again"
	cooldownHint   = "the server runs with --aws-cooldowns; wait a minute"
	clientPortHint = "set --endpoint or SERIATIM_ENDPOINT to a client port, by default 9324, with https:// if it has TLS"
	reachHint      = "is the server running there? set --endpoint or SERIATIM_ENDPOINT to the client port of a node, or start one " +
		"with: seriatim dev"
	timeoutHint = "raise --timeout; if that does not help the cluster may have no leader: seriatim status. A change may have " +
		"taken effect: look before you repeat it"
)

// interruptedHint also appears after reads, because this package does not know which calls change
// anything.
const interruptedHint = "a change may have taken effect: look before you repeat it"

// brokenTexts mark the library's errors of established connections. The server may have carried
// out a call over such a connection.
var brokenTexts = []string{"error reading from server", "keepalive ping failed", "the server is not reading"}

// throttled lists the reasons of ResourceExhausted that end by themselves. The others mean that
// a resource is full.
var throttled = []string{"RequestThrottled", "Throttled"}

// exitCodes maps codes of the API to exit codes.
var exitCodes = map[codes.Code]exit.Code{
	codes.NotFound: exit.NotFound, codes.DeadlineExceeded: exit.NotFound, // NoSessionAvailable
	codes.InvalidArgument: exit.Usage, codes.Unimplemented: exit.Usage,
	codes.Unauthenticated: exit.Denied, codes.PermissionDenied: exit.Denied,
	codes.Unavailable:        exit.Unavailable,
	codes.FailedPrecondition: exit.Conflict, codes.AlreadyExists: exit.Conflict, codes.Aborted: exit.Conflict,
	codes.ResourceExhausted: exit.Conflict,
}

// explain adds an exit code, a hint and the id of the request to the error of a call, unless it has a
// code.
func explain(err error, id string, nodes int) error {
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
	if batch, ok := errors.AsType[*client.BatchError](err); ok {
		shown = batch
	}
	if id != "" {
		shown = fmt.Errorf("%w (request id %s)", shown, id)
	}
	hint := hints[reason]
	if reason == "OverLimit" {
		hint = limitHint(failure.Message)
	}
	return exit.New(exitCode, shown, hint)
}

// limitHint returns the hint for a limit. Several limits have one reason, so it reads the text.
func limitHint(message string) string {
	switch {
	case strings.Contains(message, "quota"):
		return "seriatim account show ACCOUNT shows usage and limits; seriatim account quota changes the limits"
	case strings.Contains(message, "in flight"):
		return "the queue has reached its limit of messages in flight: delete or release some; seriatim queue show NAME counts them"
	}
	return ""
}

// unanswered explains an error that does not come from the server.
func unanswered(code codes.Code, text string, err error, nodes int) error {
	broken := slices.ContainsFunc(brokenTexts, func(said string) bool { return strings.Contains(text, said) })
	unreached := strings.Contains(text, "connection error:") && !broken
	text, _, _ = strings.Cut(text, "\n")
	if _, inner, found := strings.Cut(text, "desc = "); found {
		text = strings.Trim(inner, `"`)
	}
	switch {
	case strings.Contains(text, "invalid UTF-8"): // the library did not send the call
		return exit.New(exit.Usage, errors.New("an argument is not UTF-8 text"), "")
	case code == codes.Canceled:
		return exit.Interruption(interruptedHint)
	case code == codes.DeadlineExceeded:
		return exit.New(exit.Timeout, errors.New("no answer in time: "+text), timeoutHint)
	case code == codes.Unimplemented:
		return exit.New(exit.Usage, errors.New("the node does not serve this call: "+text),
			clientPortHint+"; if it is one, the node runs an older version")
	case code == codes.PermissionDenied || code == codes.Unauthenticated:
		return exit.New(exit.Denied, errors.New(text), "")
	case unreached && strings.Contains(text, "does not look like a TLS handshake"):
		return exit.New(exit.Unavailable, errors.New("the client port answers without TLS: "+text),
			"write it with http:// instead of https://")
	case unreached && (strings.Contains(text, "looked like an HTTP/1.1 header") || strings.Contains(text, "no application protocol")):
		return exit.New(exit.Usage, errors.New("that port does not serve this call"), clientPortHint)
	case unreached && strings.Contains(text, "x509:"):
		return exit.New(exit.Unavailable, errors.New("no secure connection: "+text), CertificateHint(text))
	case unreached && nodes > 1:
		return exit.New(exit.Unavailable, fmt.Errorf("none of %d nodes answers at its client port; of the last one: %s", nodes, text),
			ManyHint)
	case unreached && strings.Contains(text, "error reading server preface"):
		return exit.New(exit.Unavailable, errors.New("that port does not speak HTTP/2: "+text), clientPortHint)
	case unreached:
		return exit.New(exit.Unavailable, errors.New("cannot reach a client port: "+text), reachHint)
	case code == codes.Unavailable:
		return exit.New(exit.Unavailable, errors.New("the node went away before it answered: "+text), UnknownHint)
	}
	return exit.New(exit.Failed, err, "")
}

// CertificateHint returns the hint for a refused certificate. The library returns the error only
// as a text.
func CertificateHint(text string) string {
	switch {
	case strings.Contains(text, "unknown authority"):
		return "name the file with the certificate of its authority: --ca-file FILE"
	case strings.Contains(text, "is valid for"), strings.Contains(text, "not valid for any names"),
		strings.Contains(text, "cannot validate certificate for"):
		return "use a host name or address for which the certificate was issued"
	case strings.Contains(text, "expired or is not yet valid"):
		return "renew the certificate, unless the clock of this machine is wrong"
	}
	return ""
}
