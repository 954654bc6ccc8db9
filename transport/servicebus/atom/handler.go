package atom

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/seriatimq/seriatim/transport/auth/sas"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// Protocol is the name of the API in the access log and in metrics.
const Protocol = "atom"

// Options configure a Handler.
type Options struct {
	Backend  service.Backend
	Verifier sas.Authenticator
	Logger   *slog.Logger
}

// Handler serves the administration API. Safe for concurrent use.
type Handler struct{ Options }

// New returns a Handler.
func New(o Options) *Handler { return &Handler{o} }

// Wrap returns a handler that passes all requests but those of the administration API to next.
func (h *Handler) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if Recognizes(r) {
			h.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

const versionParameter = "api-version"

// Recognizes reports whether a request is one of the administration API. No request that means something
// to SQS or SNS is: it names an action.
func Recognizes(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodPut && r.Method != http.MethodDelete ||
		!strings.Contains(r.URL.RawQuery, versionParameter+"=") ||
		r.Header["X-Amz-Target"] != nil || strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-") {
		return false
	}
	query := r.URL.Query()
	return query.Has(versionParameter) && !query.Has("Action") && !query.Has("X-Amz-Credential")
}

// call is one request.
type call struct {
	service.Call
	h     *Handler
	w     http.ResponseWriter
	r     *http.Request
	ctx   context.Context
	query url.Values
	path  string // of the entity
	token sas.Token
}

// ServeHTTP serves one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{
		Call: service.Call{Backend: &h.Backend, Record: service.RequestOf(r.Context()), From: sigv4.ConnectionOf(r)},
		h:    h, w: w, r: r, ctx: r.Context(), query: r.URL.Query(),
	}
	c.Record.Protocol = Protocol
	if err := c.serve(); err != nil {
		c.writeError(err)
	}
}

func (c *call) serve() error {
	caller, token, err := c.h.Verifier.VerifyToken(c.ctx, c.r.Header.Get("Authorization"))
	if err != nil {
		return err
	}
	c.Authenticated(caller, "")
	if c.Backend.Authorizer == nil || c.Identity.AccessKeyID != "" {
		unverified.From(c.ctx).Verified()
	}
	of, path := parsePath(c.r.URL.Path)
	c.path, c.token = path, token
	if err := sas.CheckCovers(&token, path); err != nil {
		return err
	}
	switch of {
	case entityKind:
		return c.serveEntity()
	case subscriptionKind:
		return c.serveSubscription()
	case ruleKind:
		return c.serveRule()
	}
	if c.r.Method != http.MethodGet {
		return notFound()
	}
	switch of {
	case namespaceKind:
		return c.namespaceInfo()
	case queuesKind:
		return c.listQueues()
	case topicsKind:
		return c.listTopics()
	case subscriptionsKind:
		return c.listSubscriptions()
	case rulesKind:
		return c.listRules()
	default:
		return notFound()
	}
}

// action is an action of SQS or SNS that a request is equivalent to.
type action struct {
	service string
	name    string
	effect  service.Effect
}

const sqs, sns = "sqs:", "sns:"

var (
	createQueue        = action{sqs, "CreateQueue", service.Audited}
	deleteQueue        = action{sqs, "DeleteQueue", service.Audited}
	getQueueAttributes = action{sqs, "GetQueueAttributes", service.Reads}
	listQueues         = action{sqs, "ListQueues", service.Reads}
	setQueueAttributes = action{sqs, "SetQueueAttributes", service.Audited}

	createTopic        = action{sns, "CreateTopic", service.Audited}
	deleteTopic        = action{sns, "DeleteTopic", service.Audited}
	getTopicAttributes = action{sns, "GetTopicAttributes", service.Reads}
	listTopics         = action{sns, "ListTopics", service.Reads}
	setTopicAttributes = action{sns, "SetTopicAttributes", service.Audited}
	subscribe          = action{sns, "Subscribe", service.Audited}
	unsubscribe        = action{sns, "Unsubscribe", service.Audited}
	listSubscriptions  = action{sns, "ListSubscriptionsByTopic", service.Reads}

	getSubscriptionAttributes = action{sns, "GetSubscriptionAttributes", service.Reads}
	setSubscriptionAttributes = action{sns, "SetSubscriptionAttributes", service.Audited}
)

// on returns the permission to the action on a queue or a topic, or on the account for an empty name.
func (a action) on(qualified string) service.Need {
	need := service.Need{Permission: a.service + a.name}
	if a.service == sqs {
		need.Resource.Name = qualified
	} else {
		need.Resource.Topic = qualified
	}
	return need
}

// begin records the action and its queue or topic, empty for the account, and refuses a caller without
// the permission to it and to other resources.
func (c *call) begin(a action, qualified string, others ...service.Need) error {
	need := a.on(qualified)
	c.Resource = need.Resource
	c.Record.Action, c.Record.Effect, c.Record.Permission = a.name, a.effect, need.Permission
	c.Record.Queue, c.Record.Topic = need.Resource.Name, need.Resource.Topic
	c.Record.Announce()
	if err := c.PermitAll(c.ctx, append([]service.Need{need}, others...)); err != nil {
		return err
	}
	if c.Identity.AccessKeyID == "" {
		unverified.From(c.ctx).Permitted()
	}
	if !c.Backend.Rate.Allow(c.Scope.Charged(c.Identity, c.Resource)) {
		return service.Throttled()
	}
	return nil
}
