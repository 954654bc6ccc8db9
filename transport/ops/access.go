package ops

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// submitter is a node that executes commands; *cluster.Node is one.
type submitter interface {
	Submit(ctx context.Context, cmd queue.Command) (cluster.Reply, error)
}

const (
	accessTimeout  = 10 * time.Second
	accessBytesMax = 64 << 10

	accessKeysPath   = "/v1/access/keys"
	userPoliciesPath = "/v1/access/policies"
)

// accessAdmin serves access keys and policies of users.
type accessAdmin struct {
	*Admin
	node submitter
}

// accessRoutes returns the routes for access keys and policies.
func (a *Admin) accessRoutes(node submitter) []route {
	s := accessAdmin{a, node}
	list := []route{
		{"GET " + accessKeysPath, Operate, s.keys},
		{"POST " + accessKeysPath, Administrator, s.createKey},
		{"POST " + accessKeysPath + "/{id}/enable", Administrator, func(w http.ResponseWriter, r *http.Request) {
			s.changeKey(w, r, &access.UpdateAccessKey{ID: r.PathValue("id"), Active: true})
		}},
		{"POST " + accessKeysPath + "/{id}/disable", Administrator, func(w http.ResponseWriter, r *http.Request) {
			s.changeKey(w, r, &access.UpdateAccessKey{ID: r.PathValue("id")})
		}},
		{"POST " + accessKeysPath + "/{id}/delete", Administrator, func(w http.ResponseWriter, r *http.Request) {
			s.changeKey(w, r, &access.DeleteAccessKey{ID: r.PathValue("id")})
		}},
		{"GET " + userPoliciesPath, Operate, s.policies},
		{"POST " + userPoliciesPath, Administrator, s.putPolicy},
	}
	if a.Policies != nil {
		list = append(list, route{"GET " + simulatePath, Operate, s.simulate})
	}
	return list
}

// keys lists all keys without their secrets.
func (s accessAdmin) keys(w http.ResponseWriter, r *http.Request) {
	list := document.AccessKeys{Keys: []document.AccessKey{}} // a list in JSON, also when empty
	s.read(w, r, func(t *access.Table) {
		t.Keys(func(k access.Key) bool {
			list.Keys = append(list.Keys, document.AccessKey{
				ID: k.ID, Account: k.User.Account, User: k.User.Name, Active: !k.Inactive,
				CreatedAt: time.UnixMilli(int64(k.CreatedAt)).UTC().Format(time.RFC3339),
			})
			return true
		})
	}, &list)
}

// policies lists the policies of all users.
func (s accessAdmin) policies(w http.ResponseWriter, r *http.Request) {
	list := document.UserPolicies{Policies: []document.UserPolicy{}}
	s.read(w, r, func(t *access.Table) {
		t.Policies(func(p access.Policy) bool {
			list.Policies = append(list.Policies, document.UserPolicy{Account: p.User.Account, User: p.User.Name, Policy: p.Text})
			return true
		})
	}, &list)
}

// read fills in an answer from a state with all acknowledged changes.
func (s accessAdmin) read(w http.ResponseWriter, r *http.Request, fill func(*access.Table), answer any) {
	ctx, cancel := context.WithTimeout(r.Context(), accessTimeout)
	defer cancel()
	var table *access.Table
	if _, err := s.Node.Read(ctx, func(v queue.View) error {
		table = v.Access()
		return nil
	}); err != nil {
		s.fail(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	fill(table)
	s.answer(w, http.StatusOK, answer)
}

// createKey creates a key. Only its answer has the secret.
func (s accessAdmin) createKey(w http.ResponseWriter, r *http.Request) {
	var change document.NewAccessKey
	if !s.decode(w, r, &change) {
		return
	}
	if change.Account == "" {
		change.Account = s.Account
	}
	if (change.ID == "") != (change.Secret == "") {
		s.fail(w, http.StatusBadRequest, "id and secret belong together: give both, or none to have them drawn")
		return
	}
	if change.ID == "" {
		var err error
		if change.ID, change.Secret, err = auth.DrawKey(s.Random); err != nil {
			s.Logger.Error("drawing an access key failed", "error", err)
			s.fail(w, http.StatusInternalServerError, "the source of random numbers failed")
			return
		}
	}
	aimAt(r.Context(), change.ID+" of "+change.Account+"/"+change.User)
	cmd := &access.CreateAccessKey{ID: change.ID, Secret: change.Secret, Account: change.Account, User: change.User,
		Tenant: change.Account != s.Account}
	if s.submit(w, r, cmd) {
		s.answer(w, http.StatusOK, document.AccessKey{ID: cmd.ID, Secret: cmd.Secret, Account: cmd.Account, User: cmd.User, Active: true})
	}
}

func (s accessAdmin) changeKey(w http.ResponseWriter, r *http.Request, cmd queue.Command) {
	var nothing struct{}
	if s.decode(w, r, &nothing) && s.submit(w, r, cmd) {
		s.answer(w, http.StatusOK, struct{}{})
	}
}

// putPolicy stores or deletes the policy of a user.
func (s accessAdmin) putPolicy(w http.ResponseWriter, r *http.Request) {
	var p document.UserPolicy
	if !s.decode(w, r, &p) {
		return
	}
	if p.Account == "" {
		p.Account = s.Account
	}
	aimAt(r.Context(), p.Account+"/"+p.User)
	if s.submit(w, r, &access.PutUserPolicy{Account: p.Account, User: p.User, Policy: p.Policy, Tenant: p.Account != s.Account}) {
		s.answer(w, http.StatusOK, p)
	}
}

// decode reads the body of a change, and answers an invalid one.
func (s accessAdmin) decode(w http.ResponseWriter, r *http.Request, into any) bool {
	return s.readBody(w, r, accessBytesMax, into)
}

// submit executes a command, and answers a refused one.
func (s accessAdmin) submit(w http.ResponseWriter, r *http.Request, cmd queue.Command) bool {
	ctx, cancel := context.WithTimeout(r.Context(), accessTimeout)
	defer cancel()
	_, err := s.node.Submit(ctx, cmd)
	if err == nil {
		// This node applies the change before the answer. If it is late, the change holds anyway.
		_, _ = s.Node.Read(ctx, func(queue.View) error { return nil })
	}
	var refused *queue.Error
	switch {
	case err == nil:
		return true
	case !errors.As(err, &refused):
		s.fail(w, http.StatusServiceUnavailable, err.Error())
	case refused.Code == refusal.NoSuchEntity:
		s.answer(w, http.StatusNotFound, document.Refusal{Error: refused.Message, Kind: "unknown-entity"})
	case refused.Code == refusal.EntityAlreadyExists, refused.Code == refusal.LimitExceeded, refused.Code == refusal.DeleteConflict:
		s.answer(w, http.StatusConflict, document.Refusal{Error: refused.Message, Kind: "conflict"})
	default:
		s.fail(w, http.StatusBadRequest, refused.Message)
	}
	return false
}
