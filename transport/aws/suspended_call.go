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

// suspend starts an action that may wait. It reports false if the connection needs a goroutine for it.
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

// detach drops all references to the text of the request, whose memory returns to the budget while the
// call waits.
func (c *Call) detach() {
	c.Request, c.body, c.From = nil, "", auth.Connection{}
	if c.Form != nil {
		c.Form = new(awswire.Form) // it selects the protocol
	}
	c.Identity.AccessKeyID, c.Identity.Service = strings.Clone(c.Identity.AccessKeyID), strings.Clone(c.Identity.Service)
	c.Record.Account = c.Identity.AccessKeyID
	c.Scope.KeepCaller()
}

func (s *suspendedCall) finish() {
	h := s.call.handler
	used := h.spaces.Get().(*space) // for its buffer
	defer h.recycle(used)
	h.answer(s.writer, &s.call, s.action, s.output, s.err, &used.buffer)
}
