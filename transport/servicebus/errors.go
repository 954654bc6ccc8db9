package servicebus

import (
	"context"
	"errors"
	"net/http"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/amqp"
	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/service"
)

// Conditions of errors, by which clients choose the class of an exception and whether to retry.
const (
	notFound              = "amqp:not-found"
	notAllowed            = amqp.NotAllowed
	notImplemented        = "amqp:not-implemented"
	unauthorizedAccess    = amqp.UnauthorizedAccess
	resourceLimitExceeded = amqp.ResourceLimitExceeded
	messageSizeExceeded   = amqp.MessageSizeExceeded
	detachForced          = amqp.DetachForced
	decodeError           = amqp.DecodeError
	internalError         = "amqp:internal-error"

	vendor                = "com.microsoft:"
	timedOut              = vendor + "timeout"
	serverBusy            = vendor + "server-busy"
	argumentError         = vendor + "argument-error"
	authFailed            = vendor + "auth-failed"
	messageNotFound       = vendor + "message-not-found"
	messageLockLost       = vendor + "message-lock-lost"
	sessionLockLost       = vendor + "session-lock-lost"
	sessionCannotBeLocked = vendor + "session-cannot-be-locked"
	sessionNotFound       = vendor + "session-not-found"
	entityAlreadyExists   = vendor + "entity-already-exists"
	entityDisabled        = vendor + "entity-disabled"
)

// conditions has the conditions of refusals. Any other refusal is an argumentError.
var conditions = map[refusal.Code]string{
	refusal.QueueDoesNotExist:      notFound,
	refusal.NotFound:               notFound,
	refusal.RuleNotFound:           notFound,
	refusal.RuleAlreadyExists:      entityAlreadyExists,
	refusal.RuleLimitExceeded:      resourceLimitExceeded,
	refusal.MessageNotFound:        messageNotFound,
	refusal.MessageLockLost:        messageLockLost,
	refusal.ReceiptHandleIsInvalid: messageLockLost,
	refusal.MessageNotInflight:     messageLockLost,
	refusal.SessionCannotBeLocked:  sessionCannotBeLocked,
	refusal.SessionLockLost:        sessionLockLost,
	refusal.OverLimit:              resourceLimitExceeded,
	refusal.Throttled:              resourceLimitExceeded,
	refusal.BatchRequestTooLong:    messageSizeExceeded,
	refusal.RequestThrottled:       serverBusy,
	refusal.UnsupportedOperation:   notAllowed,
	refusal.EntityDisabled:         entityDisabled,
	refusal.QuotaExceeded:          resourceLimitExceeded,
}

func failure(condition, description string) *wire.Error {
	return &wire.Error{Condition: condition, Description: description}
}

var (
	// The SDK for JavaScript knows errNoEntity by its description, with words between "entity" and "could".
	errNoEntity  = failure(notFound, "The messaging entity of the link could not be found.")
	errDraining  = failure(detachForced, "The node is stopping. Attach again, perhaps at another node.")
	errNoSession = failure(notAllowed, "The SessionId was not set on a message, and it cannot be sent to the entity. Entities that have "+
		"session support enabled can only receive messages that have the SessionId set to a valid value.")
	errUnknown = failure(detachForced, "The outcome of a message is unknown: it may be stored or not. Send it again with the same "+
		"message-id.")
)

// refusalOf returns the error of a refusal.
func refusalOf(e *queue.Error) *wire.Error {
	condition, known := conditions[e.Code]
	switch {
	case !known:
		condition = argumentError
	case condition == notFound:
		return errNoEntity
	}
	return failure(condition, e.Message)
}

// errorOf returns the error for a client, and whether nothing was written.
func (s *Server) errorOf(err error) (of *wire.Error, certain bool) {
	var refused *queue.Error
	var denied *auth.Error
	switch {
	case errors.As(err, &of):
		return of, true
	case errors.As(err, &refused):
		return refusalOf(refused), true
	case errors.As(err, &denied):
		if denied.Status == http.StatusServiceUnavailable {
			return failure(serverBusy, denied.Message), true
		}
		return failure(unauthorizedAccess, denied.Message), true
	}
	switch kind, text := service.FailureOf(err); kind {
	case service.OutcomeUnknown:
		return failure(timedOut, text), false
	case service.UnderPressure, service.Overloaded, service.NoLeader:
		return failure(serverBusy, text), true
	case service.UpgradeNeeded:
		return failure(notImplemented, text), true
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return failure(timedOut, "The time of the request is over."), false
	}
	s.Logger.Error("a request failed with an unexpected error", "error", err)
	return failure(internalError, "An internal error occurred. See the log of the node."), false
}
