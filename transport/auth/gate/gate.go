package gate

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/auth/iam"
	"github.com/seriatimq/seriatim/transport/auth/sas"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// Node provides keys and policies. Safe for concurrent use.
type Node interface {
	// Access returns the accounts, keys and policies that this node has applied.
	Access() *access.Table
	// Secret opens the secret of an access key.
	Secret(key access.Key) (string, error)
	// CatchUp waits until this node has applied all acknowledged changes.
	CatchUp(ctx context.Context) error
}

// Gate verifies signatures and decides by policies. Safe for concurrent use.
type Gate struct {
	node       Node
	signatures *sigv4.Verifier
	tokens     *sas.Verifier
	now        func() time.Time
	documents  documents
	// searches bounds the requests that make the node catch up.
	searches chan struct{}
}

var (
	_ sigv4.Authenticator = (*Gate)(nil)
	_ sas.Authenticator   = (*Gate)(nil)
	_ auth.Authorizer     = (*Gate)(nil)
)

// searchesMax bounds the requests with an unknown key or permission that wait for the node to catch up.
// Further ones are refused at once, so that unauthenticated callers cannot keep the node busy.
const searchesMax = 16

// New returns a Gate.
func New(node Node, now func() time.Time) *Gate {
	return &Gate{
		node: node, now: now,
		signatures: sigv4.New(active{node}, now), tokens: sas.New(active{node}, now), searches: make(chan struct{}, searchesMax),
	}
}

// active provides the secrets of active keys.
type active struct{ node Node }

// Secret returns the secret of an active key.
func (a active) Secret(id string) (secret string, known bool, err error) {
	key, known := a.node.Access().Key(id)
	if !known || key.Inactive {
		return "", false, nil
	}
	if secret, err = a.node.Secret(key); err != nil {
		return "", false, &auth.Error{
			Code: "ServiceUnavailable", Status: http.StatusServiceUnavailable,
			Message: "This node cannot open the secret of the access key yet. Retry, or ask another node.",
		}
	}
	return secret, true, nil
}

// Verify identifies the caller by the signature. A caller without a signature is anonymous: the policy of
// the resource may permit the request.
func (g *Gate) Verify(r *http.Request, body string) (auth.Identity, string, error) {
	caller, content, err := g.signatures.Verify(r, body)
	if is(err, sigv4.UnknownKey) && g.search(r.Context()) {
		caller, content, err = g.signatures.Verify(r, body)
	}
	if is(err, sigv4.Unsigned) {
		return auth.Identity{}, body, nil
	}
	if err == nil {
		err = checkSigned(r, caller)
	}
	if err != nil {
		return auth.Identity{}, "", err
	}
	return g.owned(caller), content, nil
}

// VerifyToken identifies the caller by a shared access signature. A caller without a token is anonymous:
// the policy of the resource may permit the request.
func (g *Gate) VerifyToken(ctx context.Context, text string) (auth.Identity, sas.Token, error) {
	if text == "" {
		return auth.Identity{}, sas.Token{}, nil
	}
	caller, token, err := g.tokens.Verify(text)
	if is(err, sas.UnknownKey) && g.search(ctx) {
		caller, token, err = g.tokens.Verify(text)
	}
	if err != nil {
		return auth.Identity{}, sas.Token{}, err
	}
	return g.owned(caller), token, nil
}

// owned adds the owner of the caller's key.
func (g *Gate) owned(caller auth.Identity) auth.Identity {
	key, _ := g.node.Access().Key(caller.AccessKeyID)
	caller.Account, caller.User = key.User.Account, key.User.Name
	return caller
}

func is(err error, code string) bool {
	var refused *auth.Error
	return errors.As(err, &refused) && refused.Code == code
}

// search makes the node catch up with newer keys and policies. It reports whether to look again.
func (g *Gate) search(ctx context.Context) bool {
	select {
	case g.searches <- struct{}{}:
		defer func() { <-g.searches }()
		turn := unverified.From(ctx)
		held := turn.Release()
		defer func() { turn.Resume(held) }()
		return g.node.CatchUp(ctx) == nil
	default:
		return false
	}
}

// Revoked refuses a caller whose key was revoked, by the state that this node has applied. It does not
// verify the signature again, whose date may be long past.
func (g *Gate) Revoked(caller auth.Identity) error {
	if caller.AccessKeyID == "" {
		return nil
	}
	key, known := g.node.Access().Key(caller.AccessKeyID)
	if known && !key.Inactive && key.User == (access.User{Account: caller.Account, Name: caller.User}) {
		return nil
	}
	return &auth.Error{Code: sigv4.UnknownKey, Status: http.StatusForbidden,
		Message: "The security token included in the request is invalid."}
}

// RefuseAnonymous refuses a caller without a key.
func (g *Gate) RefuseAnonymous(caller auth.Identity) error {
	if caller.Account != "" {
		return nil
	}
	return &auth.Error{Code: sigv4.Unsigned, Status: http.StatusForbidden, Message: "Request is missing Authentication Token"}
}

// Authorize decides by the policies of the caller and the resource. Before it refuses, the node catches
// up, and Authorize decides again.
func (g *Gate) Authorize(ctx context.Context, from *auth.Connection, caller auth.Identity, to auth.Permission) error {
	if g.permitted(from, caller, to) {
		return nil
	}
	if g.search(ctx) && g.permitted(from, caller, to) {
		return nil
	}
	if err := g.RefuseAnonymous(caller); err != nil {
		return err
	}
	who := iam.Caller{Account: caller.Account, User: caller.User}
	return &auth.Error{
		Code: "AccessDenied", Status: http.StatusForbidden,
		Message: "User: " + who.ARN() + " is not authorized to perform: " + strings.ToLower(to.Action) + " on resource: " + to.Resource,
	}
}

// permitted decides by the state that this node has applied.
func (g *Gate) permitted(from *auth.Connection, caller auth.Identity, to auth.Permission) bool {
	return g.decide(caller, to, func(keys map[string][]string) { ofConnection(keys, from) }).Allowed
}

// Simulate decides about a hypothetical request by the state that this node has applied. given holds
// values of condition keys, under their names in lower case, instead of those of a connection.
func (g *Gate) Simulate(caller auth.Identity, to auth.Permission, given map[string][]string) iam.Decision {
	return g.decide(caller, to, func(keys map[string][]string) {
		keys["aws:securetransport"] = []string{"false"}
		maps.Copy(keys, given)
	})
}

// decide decides all requests. fill adds the condition keys of the connection; it is called only if a
// policy is evaluated.
func (g *Gate) decide(caller auth.Identity, to auth.Permission, fill func(keys map[string][]string)) iam.Decision {
	request := iam.Request{
		Caller: iam.Caller{Account: caller.Account, User: caller.User}, Action: to.Action, Resource: to.Resource, Account: to.Account,
	}
	if request.Account == "" {
		request.Account = caller.Account
	}
	ofCaller := g.documents.user(g.node.Access(), access.User{Account: caller.Account, Name: caller.User})
	var ofResource *iam.Document
	if to.Policy != nil && !ownsPolicy(&request) {
		kind := iam.QueuePolicy
		if strings.HasPrefix(to.Action, "sns:") {
			kind = iam.TopicPolicy
		}
		ofResource = g.documents.read(kind, to.Policy())
	}
	if ofResource != nil || ofCaller != nil {
		request.Keys = g.conditionKeys(request.Caller)
		fill(request.Keys)
	}
	return iam.Decide(&request, ofCaller, ofResource)
}

// ownsPolicy reports whether a request of the owning account reads or changes a policy. No policy can
// deny that, because a policy that denies everything could never be removed.
func ownsPolicy(r *iam.Request) bool {
	if r.Caller.Account != r.Account || r.Caller.User != "" {
		return false
	}
	switch _, name, _ := strings.Cut(r.Action, ":"); name {
	case "AddPermission", "RemovePermission", "GetQueueAttributes", "SetQueueAttributes", "GetTopicAttributes", "SetTopicAttributes":
		return true
	}
	return false
}

// conditionKeys returns the values of the condition keys for the time and the caller.
func (g *Gate) conditionKeys(who iam.Caller) map[string][]string {
	keys := map[string][]string{"aws:currenttime": {g.now().UTC().Format(time.RFC3339)}}
	if who.Account != "" {
		keys["aws:principalaccount"] = []string{who.Account}
		keys["aws:principalarn"] = []string{who.ARN()}
	}
	if who.User != "" {
		keys["aws:username"] = []string{who.User}
	}
	return keys
}

// ofConnection adds the condition keys of a connection.
func ofConnection(keys map[string][]string, from *auth.Connection) {
	keys["aws:securetransport"] = []string{strconv.FormatBool(from.Encrypted)}
	if host, _, err := net.SplitHostPort(from.Address); err == nil {
		keys["aws:sourceip"] = []string{host}
	}
	if from.UserAgent != "" {
		keys["aws:useragent"] = []string{from.UserAgent}
	}
}
