package aws

import (
	"net/http"
	"strings"

	"github.com/seriatimq/seriatim/transport/auth"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/http1"
)

// suspendedCall is a call whose handler has returned before it was answered.
type suspendedCall struct {
	call   Call
	action *Action
	writer http.ResponseWriter
	output any // of the action, or err
	err    error
}

// suspend begins an action that may wait, unless the connection needs a goroutine for it.
// It keeps nothing of the request that is needed no more.
func (h *Handler) suspend(w http.ResponseWriter, c *Call, a *Action, input any) bool {
	if a.begin == nil {
		return false
	}
	s := &suspendedCall{call: *c, action: a, writer: w}
	resume, ok := http1.Suspend(w, s.finish)
	if !ok {
		return false
	}
	s.call.detach()
	a.begin(c.ctx, &s.call, input, func(output any, err error) {
		s.output, s.err = output, err
		resume()
	})
	return true
}

// detach makes the call keep nothing of the text of its request, whose memory is given back to
// the budget while it waits.
func (c *Call) detach() {
	c.Request, c.body, c.From = nil, "", auth.Connection{}
	if c.Form != nil {
		c.Form = new(awswire.Form) // that there is one says which protocol it is
	}
	c.Identity.AccessKeyID, c.Identity.Service = strings.Clone(c.Identity.AccessKeyID), strings.Clone(c.Identity.Service)
	c.Record.Account = c.Identity.AccessKeyID
	c.Scope.KeepCaller()
}

// finish answers the call.
func (s *suspendedCall) finish() {
	h := s.call.handler
	used := h.spaces.Get().(*space) // for its buffer
	defer h.recycle(used)
	h.answer(s.writer, &s.call, s.action, s.output, s.err, &used.buffer)
}
