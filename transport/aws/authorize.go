package aws

import (
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/account"
	"github.com/seriatimq/seriatim/transport/auth"
)

// authorize asks whether the caller may do what the line of an action says, to the
// resource that was found and to the others that the action touches.
func (c *Call) authorize(line Line, input any) error {
	if line.ByLink || c.handler.Authorizer == nil {
		return nil
	}
	err := c.permits(line.Permission, c.Resource)
	if err != nil && line.Unseen != nil && c.Scope.Foreign(c.Resource.Name) {
		return line.Unseen()
	}
	if err != nil || line.Beside == nil {
		return err
	}
	needs, err := line.Beside(c, input)
	if err != nil {
		return err
	}
	for _, need := range needs {
		if err := c.permits(need.Permission, need.Resource); err != nil {
			return err
		}
	}
	return nil
}

// permits asks for one permission.
func (c *Call) permits(action string, resource Resource) error {
	return c.handler.Authorizer.Authorize(c.Request, c.Identity, PermissionTo(c.handler.Node, c.handler.Names, action, resource))
}

// unsigned reports whether a request without a signature is one that needs none, by what
// this node knows.
func (c *Call) unsigned(line Line, input any) (may bool) {
	if line.Unsigned == nil || c.Signed() {
		return false
	}
	c.handler.Node.ReadLocal(func(v queue.View) { may = line.Unsigned(v, input) })
	return may
}

// Policies are who may use the cluster, with the policies of its queues and topics, as far as
// this node knows. They are read without the lock of the state, for which every request
// would wait while an entry is applied.
type Policies interface{ Access() *access.Table }

// PermissionTo is what a caller has to be permitted who wants to do something to a
// resource.
func PermissionTo(node Policies, names Names, action string, resource Resource) auth.Permission {
	switch {
	case resource.Name != "":
		return auth.Permission{
			Action: action, Resource: names.QueueARN(resource.Name), Account: names.ID(account.OwnerOf(resource.Name)),
			Policy: func() string { return node.Access().QueuePolicy(resource.Name) },
		}
	case resource.Topic != "":
		return auth.Permission{
			Action: action, Resource: names.TopicARN(resource.Topic), Account: names.ID(account.OwnerOf(resource.Topic)),
			Policy: func() string { return node.Access().TopicPolicy(resource.Topic) },
		}
	}
	return auth.Permission{Action: action, Resource: "*"}
}

// refusal is what a call is answered with that fails. A caller without a key who was not
// permitted anything is told that the key is missing, whatever else is wrong: the rest
// could tell what exists.
func (c *Call) refusal(err error) error {
	guard := c.handler.Authorizer
	if guard == nil || !c.examined || c.permitted {
		return err
	}
	if stranger := guard.Stranger(c.Identity); stranger != nil {
		return stranger
	}
	return err
}

// Permissions are what the actions of APIs need, by service and name in lower case, such as
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
