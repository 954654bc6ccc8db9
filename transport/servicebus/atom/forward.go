package atom

import (
	"net/http"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/auth/sas"
	"github.com/seriatimq/seriatim/transport/servicebus/atom/document"
	"github.com/seriatimq/seriatim/transport/servicebus/description"
	"github.com/seriatimq/seriatim/transport/servicebus/entity/lookup"
)

// forwarding is a property that names the target of forwarding, and the header with a token for that.
type forwarding struct {
	of     func(*description.Queue) *description.Forward
	header string
}

var forwardings = [2]forwarding{
	{func(q *description.Queue) *description.Forward { return &q.ForwardTo }, "ServiceBusSupplementaryAuthorization"},
	{func(q *description.Queue) *description.Forward { return &q.ForwardDeadLetters }, "ServiceBusDlqSupplementaryAuthorization"},
}

// describe sets the properties that a description of a new entity gives. wrong is the error of a bad one,
// which only a permitted caller gets.
func (c *call) describe(of *description.Schema[description.Queue], q *description.Queue, given *document.Element) (wrong, err error) {
	wrong = set(of, q, given)
	if wrong != nil || !q.Forwards() || c.anonymous() {
		return wrong, nil
	}
	none := &description.Queue{}
	err = c.Read(c.ctx, func(v queue.View) error {
		wrong = c.resolve(v, q, none)
		return nil
	})
	if err == nil && wrong == nil {
		wrong = c.checkTokens(q, none)
	}
	return wrong, err
}

// resolve finds the new targets of forwarding.
func (c *call) resolve(v queue.View, q, before *description.Queue) error {
	for _, f := range forwardings {
		to, old := f.of(q), *f.of(before)
		switch {
		case to.Path == "":
			continue
		case strings.EqualFold(to.Path, old.Path):
			*to = old
			continue
		}
		found, ok := c.in(v).Find(to.Path)
		if !ok {
			return &fault{http.StatusBadRequest, "BadRequest",
				"SubCode=40400. The auto forwarding destination entity does not exist: " + to.Path + "."}
		}
		*to = description.Forward{Path: found.Path, Topic: found.Kind == lookup.Topic}
	}
	return nil
}

// checkTokens refuses new targets of forwarding that no token of the request covers.
func (c *call) checkTokens(q, before *description.Queue) error {
	for _, f := range forwardings {
		if to := *f.of(q); to != *f.of(before) && to.Path != "" {
			if err := c.covers(to.Path, f.header); err != nil {
				return err
			}
		}
	}
	return nil
}

// covers refuses a target that neither the token of the request covers nor that in a header.
func (c *call) covers(path, header string) error {
	text := c.r.Header.Get(header)
	if text == "" || c.token.Covers(path) {
		return sas.CheckCovers(&c.token, path)
	}
	caller, token, err := c.h.Verifier.VerifyToken(c.ctx, text)
	switch {
	case err != nil:
		return err
	case caller != c.Identity:
		return &auth.Error{Code: sas.OutsideScope, Status: http.StatusUnauthorized,
			Message: "The token in the header " + header + " must have the key of the token in the header Authorization."}
	}
	return sas.CheckCovers(&token, path)
}
