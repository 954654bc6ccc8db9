package atom

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/budget"
	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/servicebus/description"
)

// fault is an error of the API.
type fault struct {
	status int
	code   string // in the access log and in metrics
	detail string // begins with the SubCode of Service Bus, where there is one
}

// Error returns the detail.
func (f *fault) Error() string { return f.detail }

func badRequest(text string) *fault {
	return &fault{http.StatusBadRequest, "BadRequest", "SubCode=40000. " + text}
}

func notFound() *fault {
	return &fault{http.StatusNotFound, "NotFound", "SubCode=40400. Not Found. The Operation doesn't exist."}
}

func conflict() *fault {
	return &fault{http.StatusConflict, "Conflict",
		"SubCode=40900. Conflict. You're requesting an operation that isn't allowed in the resource's current state."}
}

func preconditionFailed() *fault {
	return &fault{http.StatusPreconditionFailed, "PreconditionFailed", "The header If-Match must be *. Entities have no ETag here."}
}

// errGone means that the client has disconnected.
var errGone = errors.New("the client is gone")

// faultOf turns any error into a fault.
func (c *call) faultOf(err error) *fault {
	var known *fault
	var refused *queue.Error
	var denied *auth.Error
	var property *description.Refused
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &property):
		return badRequest(err.Error())
	case errors.As(err, &refused):
		return faultOfRefusal(refused)
	case errors.As(err, &denied):
		return c.faultOfDenial(denied)
	}
	switch failure, text := service.FailureOf(err); failure {
	case service.Unexpected:
	case service.OutcomeUnknown:
		return &fault{http.StatusServiceUnavailable, "OutcomeUnknown", text}
	default:
		return &fault{http.StatusServiceUnavailable, "ServiceUnavailable", text}
	}
	c.h.Logger.Error("a request failed with an unexpected error", "request_id", c.Record.ID, "action", c.Record.Action, "error", err)
	return &fault{http.StatusInternalServerError, "InternalFailure", "SubCode=50000. An internal error occurred. See the log of the node."}
}

// faultOfRefusal translates a refusal of the state machine.
func faultOfRefusal(e *queue.Error) *fault {
	switch e.Code {
	case refusal.QueueDoesNotExist, refusal.NotFound, refusal.RuleNotFound:
		return notFound()
	case refusal.QueueNameExists, refusal.RuleAlreadyExists:
		return conflict()
	case refusal.QueueDeletedRecently:
		return &fault{http.StatusConflict, "Conflict", "SubCode=40901. Another conflicting operation is in progress. " + e.Message}
	case refusal.OverLimit, refusal.TopicLimitExceeded, refusal.SubscriptionLimitExceeded, refusal.RuleLimitExceeded:
		return &fault{http.StatusForbidden, "QuotaExceeded", e.Message}
	case refusal.RequestThrottled:
		return &fault{http.StatusTooManyRequests, "ServerBusy", e.Message}
	}
	return badRequest(e.Message)
}

// faultOfDenial translates a refusal of the caller. Service Bus answers 401 to callers without a
// permission, too.
func (c *call) faultOfDenial(e *auth.Error) *fault {
	c.Record.Unauthenticated = c.Identity.Account == ""
	switch {
	case e.Status == http.StatusServiceUnavailable:
		return &fault{e.Status, e.Code, e.Message}
	case c.Record.Action != "":
		return &fault{http.StatusUnauthorized, e.Code, "SubCode=40100: Unauthorized : Unauthorized access for '" + c.Record.Action +
			"' operation on endpoint 'sb://" + c.r.Host + "/" + c.path + "'. " + e.Message}
	}
	return &fault{http.StatusUnauthorized, e.Code, "SubCode=40103: " + e.Message}
}

// writeError answers with an error. If the client is gone, it closes the connection, so that no partial
// answer looks like a success.
func (c *call) writeError(err error) {
	if errors.Is(err, errGone) || c.ctx.Err() != nil {
		c.Record.Code = "Gone"
		panic(http.ErrAbortHandler)
	}
	f := c.faultOf(err)
	c.Record.Code = f.code
	detail := strings.TrimSuffix(f.detail, ".") + ". TrackingId:" + c.Record.ID
	body := appendXML(nil, errorBody{Code: strconv.Itoa(f.status), Detail: detail})
	c.w.Header().Set("Content-Type", "application/xml; charset=utf-8")
	c.w.WriteHeader(f.status)
	_, _ = c.w.Write(body) // an error means that the client is gone
}

// write answers with a document.
func (c *call) write(status int, document any) error {
	c.w.Header().Set("Content-Type", documentType)
	c.w.WriteHeader(status)
	if _, err := c.w.Write(appendXML(nil, document)); errors.Is(err, budget.ErrExhausted) {
		return &fault{http.StatusServiceUnavailable, "OutcomeUnknown", "Too many large answers wait for their clients at the moment. " +
			"The request was served, but its answer is lost."}
	}
	return nil
}
