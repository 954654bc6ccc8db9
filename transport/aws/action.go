package aws

import (
	"context"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// API describes one service: the form of its requests and its actions.
type API struct {
	Service   string // as in ARNs: sqs
	Target    string // beginning of X-Amz-Target in the JSON protocol: AmazonSQS.; empty: there is none
	Version   string // parameter Version of the Query protocol
	Namespace string // of XML answers
	Errors    string // namespace of its errors in JSON: com.amazonaws.sqs#
	// Internal is the code of a defect of the server; empty: InternalFailure.
	Internal string
	// ErrorDetail says that errors in XML have an element Detail, which is empty.
	ErrorDetail bool
	Actions     []*Action
	// Refusal turns a refusal of the domain into an error of this service.
	Refusal func(protocol string, e *queue.Error) *awswire.Error
}

// Line is a row of the table of actions: the name, the permission that a caller needs, and the resource.
type Line struct {
	Name string
	// Permission is a permission as in an access policy. The batch form of an action has that
	// of the single form.
	Permission string
	// Resource finds the queue or topic in the decoded input.
	Resource func(c *Call, input any) (service.Resource, error)
	// Needs returns the permissions for the other resources that the action touches; nil: none.
	// It is called when the caller has the permission for Resource.
	Needs  func(c *Call, input any) ([]service.Need, error)
	Effect service.Effect // required
	// Unseen returns the error for a caller of another account without the permission, as if
	// the resource did not exist. Nil: access is denied.
	Unseen func() error
	// ByLink allows the action for browsers that follow a link with a secret.
	ByLink bool
	// Unsigned reports whether a request may come without a signature, whatever the policies
	// permit. Nil: it may not.
	Unsigned func(v queue.View, input any) bool
}

// complete panics, at the start of the program, on a line that lacks a required field.
func (l Line) complete() Line {
	if l.Name == "" || l.Permission == "" || l.Resource == nil || l.Effect == 0 {
		panic("aws: the line of the action " + l.Name + " lacks its permission, its resource or its effect")
	}
	return l
}

// Action is one action of an API with all that is needed to serve it.
type Action struct {
	Line
	in, out  *awswire.Shape
	newInput func() any
	execute  func(ctx context.Context, c *Call, input any) (output any, err error)
	// begin is execute without a goroutine: it passes the result to complete, once, perhaps
	// before it returns. It keeps no part of the input's texts, which belong to the request.
	// Nil: the action does not wait.
	begin func(ctx context.Context, c *Call, input any, complete func(output any, err error))
}

// Nothing is the output of actions that have none.
type Nothing struct{}

// NoOutput is the schema of Nothing.
var NoOutput = awswire.Structure[Nothing]()

// Define returns an action.
func Define[In, Out any](line Line, in *awswire.Schema[In], out *awswire.Schema[Out],
	execute func(context.Context, *Call, *In) (*Out, error),
) *Action {
	return &Action{
		Line: line.complete(), in: &in.Shape, out: &out.Shape,
		newInput: func() any { return new(In) },
		execute:  func(ctx context.Context, c *Call, input any) (any, error) { return execute(ctx, c, input.(*In)) },
	}
}

// DefineWaiting returns an action that may wait without a goroutine: begin passes the result
// to complete, once, perhaps before it returns.
func DefineWaiting[In, Out any](line Line, in *awswire.Schema[In], out *awswire.Schema[Out],
	begin func(ctx context.Context, c *Call, in *In, complete func(*Out, error)),
) *Action {
	a := Define(line, in, out, func(ctx context.Context, c *Call, in *In) (result *Out, err error) {
		completed := make(chan struct{})
		begin(ctx, c, in, func(out *Out, failed error) {
			result, err = out, failed
			close(completed)
		})
		<-completed
		return result, err
	})
	a.begin = func(ctx context.Context, c *Call, input any, complete func(any, error)) {
		begin(ctx, c, input.(*In), func(out *Out, err error) { complete(out, err) })
	}
	return a
}

// Input lists the members of requests.
func (a *Action) Input() []awswire.MemberInfo { return a.in.Members() }

// Output lists the members of answers.
func (a *Action) Output() []awswire.MemberInfo { return a.out.Members() }

// accept decodes the input of a call and finds its resource.
func (a *Action) accept(c *Call) (input any, err error) {
	input = a.newInput()
	if err := a.decode(c, input); err != nil {
		return nil, err
	}
	return input, c.resolve(a.Line, input)
}

func (a *Action) decode(c *Call, input any) error {
	if c.Form != nil {
		return a.in.DecodeForm(c.Form, input)
	}
	return a.in.DecodeJSON(c.body, input)
}

func (a *Action) encode(c *Call, output any, dst []byte) []byte {
	switch {
	case c.Form == nil && a.out.Empty():
		return dst // AWS answers with an empty body, which all SDKs accept
	case c.Form == nil:
		return a.out.AppendJSON(dst, output)
	case c.negotiated:
		return a.out.AppendQueryJSON(dst, a.Name, c.Record.ID, output)
	}
	return a.out.AppendXML(dst, c.API.Namespace, a.Name, c.Record.ID, output)
}

// resolve finds the resource of the call, records it for the access log and the metrics, and
// refuses a caller without the permission. No other function does that.
func (c *Call) resolve(line Line, input any) error {
	resource, err := line.Resource(c, input)
	if err != nil {
		return err
	}
	// Names are parts of the request's text, and outlive it in metrics, spans and waits.
	resource = service.Resource{Name: strings.Clone(resource.Name), Topic: strings.Clone(resource.Topic)}
	c.Resource = resource
	c.Record.Queue, c.Record.Topic, c.Record.Permission = resource.Name, resource.Topic, line.Permission
	c.Record.Announce()
	if !c.unsigned(line, input) {
		if err := c.authorize(line, input); err != nil {
			return err
		}
	}
	c.permitted = true
	if !c.Signed() {
		unverified.From(c.ctx).Permitted()
	}
	if !c.Backend.Rate.Allow(c.Scope.Charged(c.Identity, resource)) {
		return service.Throttled()
	}
	return nil
}
