package ops

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/arn"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/auth/iam"
	"github.com/seriatimq/seriatim/transport/ops/document"
	"github.com/seriatimq/seriatim/transport/service"
)

// Policies decides about requests of the client port.
type Policies struct {
	// Decide decides about a request. given has values of condition keys.
	Decide func(caller auth.Identity, to auth.Permission, given map[string][]string) iam.Decision
	Names  service.Names
	// Permissions maps the names of actions, in lower case, to the permissions that they need.
	Permissions map[string]string
	Enforced    bool // the client port verifies signatures
}

func verdictOf(v iam.Verdict) *document.Verdict {
	if v.Effect == iam.Unspecified {
		return nil
	}
	return &document.Verdict{Effect: v.Effect.String(), Statement: v.Statement, Sid: v.Sid}
}

const simulatePath = "/v1/access/simulate"

// disabledKey is the source of decisions about requests with a disabled key.
const disabledKey = "disabled key"

// simulate decides about a hypothetical request with the code for real ones.
func (s accessAdmin) simulate(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	given, err := contextKeys(query["context"])
	if err != nil {
		s.fail(w, http.StatusBadRequest, err.Error())
		return
	}
	s.decided(w, r, func(v queue.View) (document.Simulation, error) {
		caller, active, err := s.callerOf(v.Access(), query)
		if err != nil {
			return document.Simulation{}, err
		}
		scope := service.NewScope(s.Policies.Names, v.Access(), true, caller, "")
		action, about, err := s.wanted(&scope, query.Get("action"), query.Get("resource"))
		if err != nil {
			return document.Simulation{}, err
		}
		to := service.PermissionTo(reading{v}, s.Policies.Names, action, about)
		decision := s.Policies.Decide(caller, to, given)
		answer := document.Simulation{
			Allowed: decision.Allowed && active, DecidedBy: decision.By.String(), Enforced: s.Policies.Enforced, Exists: exists(v, about),
			Caller: iam.Caller{Account: caller.Account, User: caller.User}.ARN(), Action: to.Action, Resource: to.Resource,
			UserPolicy: verdictOf(decision.Caller), ResourcePolicy: verdictOf(decision.Resource),
		}
		if !active {
			answer.DecidedBy = disabledKey
		}
		return answer, nil
	})
}

// reading is the state that one read sees.
type reading struct{ view queue.View }

// Access returns the accounts, keys and policies.
func (r reading) Access() *access.Table { return r.view.Access() }

func exists(v queue.View, about service.Resource) bool {
	switch {
	case about.Name != "":
		_, err := v.Typed(about.Name)
		return err == nil
	case about.Topic != "":
		_, err := v.TypedTopic(about.Topic)
		return err == nil
	}
	return true
}

var errNoKey = errors.New("the access key cannot be found; seriatim key list shows them")

// decided answers with a decision by a state with all acknowledged changes.
func (s accessAdmin) decided(w http.ResponseWriter, r *http.Request, decide func(queue.View) (document.Simulation, error)) {
	var answer document.Simulation
	var wrong error
	_, err := s.Node.Read(r.Context(), func(v queue.View) error {
		answer, wrong = decide(v)
		return nil
	})
	switch {
	case err != nil:
		s.fail(w, http.StatusServiceUnavailable, err.Error())
	case errors.Is(wrong, errNoKey):
		s.answer(w, http.StatusNotFound, document.Refusal{Error: wrong.Error(), Kind: "unknown-entity"})
	case wrong != nil:
		s.fail(w, http.StatusBadRequest, wrong.Error())
	default:
		aimAt(r.Context(), answer.Caller)
		s.answer(w, http.StatusOK, answer)
	}
}

// callerOf returns the caller of the simulated request, and whether its key is active.
func (s accessAdmin) callerOf(table *access.Table, query url.Values) (caller auth.Identity, active bool, err error) {
	id, user, owner := query.Get("key"), query.Get("user"), query.Get("account")
	switch {
	case (id == "") == (user == ""):
		return caller, false, errors.New("name a user or a key id, not both")
	case id != "":
		key, known := table.Key(id)
		if !known {
			return caller, false, errNoKey
		}
		return auth.Identity{AccessKeyID: id, Account: key.User.Account, User: key.User.Name}, !key.Inactive, nil
	case owner == "":
		owner = s.Account
	case !access.IsAccountID(owner):
		return caller, false, errors.New("an account id has 12 digits")
	}
	return auth.Identity{Account: owner, User: user}, true, nil
}

// wanted returns the permission for an action, and its resource by an ARN or a name; zero: none.
func (s accessAdmin) wanted(scope *service.Scope, action, resource string) (permission string, about service.Resource, err error) {
	permission = s.Policies.Permissions[strings.ToLower(action)]
	if permission == "" {
		return "", about, fmt.Errorf("there is no action %q; they are written like sqs:SendMessage and sns:Publish", action)
	}
	ofTopics := strings.HasPrefix(permission, "sns:")
	switch name, ok := arn.Queue(resource); {
	case resource == "" || resource == "*":
		return permission, about, nil
	case ok:
		about.Name = scope.Of(arn.AccountOf(resource), name)
	case strings.HasPrefix(resource, "arn:"):
		if name, ok = arn.Topic(resource); !ok {
			return "", about, fmt.Errorf("%q is the ARN of no queue and no topic", resource)
		}
		about.Topic = scope.Of(arn.AccountOf(resource), name)
	default:
		owner, name := access.Split(resource)
		if owner == "" {
			owner = scope.CallerID()
		}
		about.Name = scope.Of(owner, name)
		if ofTopics {
			about = service.Resource{Topic: about.Name}
		}
	}
	if ofTopics != (about.Topic != "") {
		return "", about, fmt.Errorf("%s does not apply to %s: sqs actions are for queues, sns actions for topics",
			permission, resource)
	}
	return permission, about, nil
}

// connectionKeys has the condition keys of the connection of a request, in lower case, with the checks of
// their values. The caller decides the other keys.
var connectionKeys = map[string]func(value string) error{
	"aws:currenttime":     func(value string) error { _, err := time.Parse(time.RFC3339, value); return err },
	"aws:securetransport": func(value string) error { _, err := strconv.ParseBool(value); return err },
	"aws:sourceip":        func(value string) error { _, err := netip.ParseAddr(value); return err },
	"aws:useragent":       func(string) error { return nil },
}

// contextKeys parses values of condition keys, each as name=value.
func contextKeys(pairs []string) (map[string][]string, error) {
	given := map[string][]string{}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		name = strings.ToLower(name)
		valid := connectionKeys[name]
		if valid == nil {
			return nil, fmt.Errorf("%q is not a condition key that you can set; you can set %s", name,
				strings.Join(slices.Sorted(maps.Keys(connectionKeys)), ", "))
		}
		if err := valid(value); err != nil {
			return nil, fmt.Errorf("no request has %s: %w", pair, err)
		}
		given[name] = []string{value}
	}
	return given, nil
}
