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
)

// member is a node whose membership the admin port can show and change;
// *cluster.Node is one. Any member of a cluster executes a change, wherever the
// leader is; Drain and Uncordon are about the asked node itself.
type member interface {
	Members(ctx context.Context) (cluster.MemberList, error)
	LocalMembers(ctx context.Context) cluster.MemberList
	AddMember(ctx context.Context, change cluster.Change) error
	RemoveMember(ctx context.Context, change cluster.Change) error
	PromoteMember(ctx context.Context, change cluster.Change) error
	ReplaceMember(ctx context.Context, change cluster.Change) error
	MoveLeadership(ctx context.Context, change cluster.Change) error
	Drain(ctx context.Context) error
	Uncordon()
	Drained() bool
}

const (
	membersTimeout  = 3 * time.Second  // to find the leader: a person waits for it
	changeTimeout   = 30 * time.Second // beside that, for two changes of the members
	changeBytesMax  = 16 << 10
	contentTypeJSON = "application/json"
)

// refusalAnswer is the JSON of a change that was refused.
type refusalAnswer struct {
	Error string              `json:"error"`
	Kind  cluster.RefusalKind `json:"kind,omitempty"`
	Hint  string              `json:"hint,omitempty"`
}

// drainAnswer is the answer of /v1/cluster/drain.
type drainAnswer struct {
	NodeID  string `json:"nodeId"`
	Drained bool   `json:"drained"`
}

// uncordon ends a drain.
func (a *Admin) uncordon(w http.ResponseWriter, r *http.Request, node member) {
	if !a.fromTool(w, r) {
		return
	}
	node.Uncordon()
	a.onDrain(false)
	a.drained(w, node)
}

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
	if !a.fromTool(w, r) {
		return
	}
	var change cluster.Change
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, changeBytesMax))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&change); err != nil && !errors.Is(err, io.EOF) {
		a.fail(w, http.StatusBadRequest, "the body is not a change: "+err.Error())
		return
	}
	if change.Node == "" && wanted {
		a.fail(w, http.StatusBadRequest, "node is missing: a node id, or a name that only one node has")
		return
	}
	aimAt(r.Context(), change.Node)
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
		a.answer(w, http.StatusNotFound, refusalAnswer{refusal.Text, refusal.Kind, refusal.Hint})
	default:
		a.answer(w, http.StatusConflict, refusalAnswer{refusal.Text, refusal.Kind, refusal.Hint})
	}
}

// drain makes this node ready to be stopped. It is drained also when it could
// not hand leadership over; the answer says so then.
func (a *Admin) drain(w http.ResponseWriter, r *http.Request, node member) {
	if !a.fromTool(w, r) {
		return
	}
	err := node.Drain(r.Context())
	a.onDrain(true)
	if err != nil {
		a.fail(w, http.StatusServiceUnavailable, "drained, but still the leader: "+err.Error())
		return
	}
	a.drained(w, node)
}

func (a *Admin) drained(w http.ResponseWriter, node member) {
	a.answer(w, http.StatusOK, drainAnswer{NodeID: a.Node.Status().NodeID, Drained: node.Drained()})
}

func (a *Admin) onDrain(drained bool) {
	if a.OnDrain != nil {
		a.OnDrain(drained)
	}
}
