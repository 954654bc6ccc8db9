package ops

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// member shows and changes the members of the cluster; *cluster.Node is one. Any member executes a change.
// DrainMember without a node drains the node itself.
type member interface {
	Members(ctx context.Context) (cluster.MemberList, error)
	LocalMembers(ctx context.Context) cluster.MemberList
	AddMember(ctx context.Context, change cluster.Change) error
	RemoveMember(ctx context.Context, change cluster.Change) error
	PromoteMember(ctx context.Context, change cluster.Change) error
	ReplaceMember(ctx context.Context, change cluster.Change) error
	MoveLeadership(ctx context.Context, change cluster.Change) error
	DrainMember(ctx context.Context, node string, drained bool) (nodeID string, err error)
	Drained() bool
}

const (
	membersTimeout  = 3 * time.Second  // to find the leader, while a person waits
	changeTimeout   = 30 * time.Second // in addition, for two changes of the members
	changeBytesMax  = 16 << 10
	contentTypeJSON = "application/json"
)

// members lists the members as the leader sees them, or with ?local=true as this node does, also without a
// leader.
func (a *Admin) members(w http.ResponseWriter, r *http.Request, node member) {
	if r.URL.Query().Get("local") == "true" {
		a.answer(w, http.StatusOK, node.LocalMembers(r.Context()))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), membersTimeout)
	defer cancel()
	list, err := node.Members(ctx)
	if err != nil {
		a.failChange(w, err)
		return
	}
	a.answer(w, http.StatusOK, list)
}

func (a *Admin) change(w http.ResponseWriter, r *http.Request, node member, execute func(context.Context, cluster.Change) error,
	wanted bool) {
	change, ok := a.readChange(w, r)
	if !ok {
		return
	}
	if change.Node == "" && wanted {
		a.fail(w, http.StatusBadRequest, "node is missing: a node id, or a name that only one node has")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), changeTimeout)
	defer cancel()
	if err := execute(ctx, change); err != nil {
		a.failChange(w, err)
		return
	}
	// The members after the change, if they are available now.
	list, err := node.Members(ctx)
	if err != nil {
		list = node.LocalMembers(r.Context())
	}
	a.answer(w, http.StatusOK, list)
}

// readBody reads the body of a change, and answers one that is invalid or does not come from a tool.
func (a *Admin) readBody(w http.ResponseWriter, r *http.Request, most int64, into any) bool {
	if !a.fromTool(w, r) {
		return false
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, most))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		a.fail(w, http.StatusBadRequest, "the body is not a valid change: "+err.Error())
		return false
	}
	return true
}

// readChange reads a change of a member, and answers an invalid one.
func (a *Admin) readChange(w http.ResponseWriter, r *http.Request) (change cluster.Change, ok bool) {
	if !a.readBody(w, r, changeBytesMax, &change) {
		return change, false
	}
	aimAt(r.Context(), change.Node)
	return change, true
}

// fromTool refuses requests that a page in an operator's browser can send: they cannot have this content
// type without a preflight request.
func (a *Admin) fromTool(w http.ResponseWriter, r *http.Request) bool {
	return a.hasType(w, r, contentTypeJSON)
}

// hasType reports whether the request has one of the content types, and answers if not.
func (a *Admin) hasType(w http.ResponseWriter, r *http.Request, types ...string) bool {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || !slices.Contains(types, media) {
		a.fail(w, http.StatusUnsupportedMediaType, "the content type must be "+strings.Join(types, " or "))
		return false
	}
	return true
}

func (a *Admin) failChange(w http.ResponseWriter, err error) {
	var refusal *cluster.MembershipRefusal
	switch {
	case !errors.As(err, &refusal):
		a.fail(w, http.StatusServiceUnavailable, err.Error())
	case refusal.Kind == cluster.RefusedUnknownNode:
		a.answer(w, http.StatusNotFound, document.Refusal{Error: refusal.Text, Kind: refusal.Kind, Hint: refusal.Hint})
	default:
		a.answer(w, http.StatusConflict, document.Refusal{Error: refusal.Text, Kind: refusal.Kind, Hint: refusal.Hint})
	}
}

// drain drains a node before a stop, or ends that. If the node cannot hand leadership over, it is drained
// anyway, and the answer reports it.
func (a *Admin) drain(w http.ResponseWriter, r *http.Request, node member, drained bool) {
	change, ok := a.readChange(w, r)
	if !ok {
		return
	}
	nodeID, err := node.DrainMember(r.Context(), change.Node, drained)
	var refusal *cluster.MembershipRefusal
	switch {
	case errors.As(err, &refusal), errors.Is(err, cluster.ErrOutcomeUnknown):
		a.failChange(w, err)
	case err != nil:
		a.fail(w, http.StatusServiceUnavailable, "drained, but still the leader: "+err.Error())
	default:
		a.answer(w, http.StatusOK, document.Drain{NodeID: nodeID, Drained: drained})
	}
}

func (a *Admin) drained(w http.ResponseWriter, node member) {
	a.answer(w, http.StatusOK, document.Drain{NodeID: a.Node.Status().NodeID, Drained: node.Drained()})
}
