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

// member is a node whose membership the admin port can show and change;
// *cluster.Node is one. Any member of a cluster executes a change, wherever the
// leader is. DrainMember without a node is about the asked node itself.
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
	membersTimeout  = 3 * time.Second  // to find the leader: a person waits for it
	changeTimeout   = 30 * time.Second // beside that, for two changes of the members
	changeBytesMax  = 16 << 10
	contentTypeJSON = "application/json"
)

// members answers what the leader knows, or with ?local=true what this node
// knows, also without a leader.
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

func (a *Admin) change(w http.ResponseWriter, r *http.Request, node member, execute func(context.Context, cluster.Change) error, wanted bool) {
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
	// What it led to, as far as it can be told now.
	list, err := node.Members(ctx)
	if err != nil {
		list = node.LocalMembers(r.Context())
	}
	a.answer(w, http.StatusOK, list)
}

// readChange reads which member a change is about, and answers if that cannot be read.
func (a *Admin) readChange(w http.ResponseWriter, r *http.Request) (change cluster.Change, ok bool) {
	if !a.fromTool(w, r) {
		return change, false
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, changeBytesMax))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&change); err != nil && !errors.Is(err, io.EOF) {
		a.fail(w, http.StatusBadRequest, "the body is not a change: "+err.Error())
		return change, false
	}
	aimAt(r.Context(), change.Node)
	return change, true
}

// fromTool keeps out what a page in an operator's browser could send: such a
// request cannot have this content type without being asked for permission.
func (a *Admin) fromTool(w http.ResponseWriter, r *http.Request) bool {
	return a.hasType(w, r, contentTypeJSON)
}

// hasType reports whether the content has one of the types, and answers if not.
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

// drain makes a node ready to be stopped, or ends that. The node is drained also when it
// could not hand leadership over; the answer says so then.
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
