package aws

import (
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/service"
)

// authorize asks whether the caller may use the resource of an action, and the other resources
// that the action touches.
func (c *Call) authorize(line Line, input any) error {
	if line.ByLink || c.Backend.Authorizer == nil {
		return nil
	}
	err := c.Permit(c.ctx, service.Need{Permission: line.Permission, Resource: c.Resource})
	if err != nil && line.Unseen != nil && c.Scope.Foreign(c.Resource.Name) {
		return line.Unseen()
	}
	if err != nil || line.Needs == nil {
		return err
	}
	needs, err := line.Needs(c, input)
	if err != nil {
		return err
	}
	return c.PermitAll(c.ctx, needs)
}

// unsigned reports whether a request without a signature needs none, by the state that this node
// has applied.
func (c *Call) unsigned(line Line, input any) (may bool) {
	if line.Unsigned == nil || c.Signed() {
		return false
	}
	c.Backend.Node.ReadLocal(func(v queue.View) { may = line.Unsigned(v, input) })
	return may
}

// refusal returns the error to answer with. A caller without a key and without a permission learns
// only that the key is missing: any other error could reveal which resources exist.
func (c *Call) refusal(err error) error {
	guard := c.Backend.Authorizer
	if guard == nil || !c.examined || c.permitted {
		return err
	}
	if refused := guard.RefuseAnonymous(c.Identity); refused != nil {
		return refused
	}
	return err
}

// Permissions returns the permission of each action, by service and name in lower case, such as
// sqs:sendmessagebatch.
func Permissions(apis ...*API) map[string]string {
	needed := map[string]string{}
	for _, api := range apis {
		for _, action := range api.Actions {
			needed[strings.ToLower(api.Service+":"+action.Name)] = action.Permission
		}
	}
	return needed
}
