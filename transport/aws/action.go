package aws

import (
	"context"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
	"github.com/seriatimq/seriatim/transport/unverified"
)

// API is one service: what its requests look like and what they may ask for.
type API struct {
	Service   string // as in ARNs: sqs
	Target    string // beginning of X-Amz-Target in the JSON protocol: AmazonSQS.; empty: there is none
	Version   string // parameter Version of the Query protocol
	Namespace string // of XML answers
	Errors    string // namespace of its errors in JSON: com.amazonaws.sqs#
	// Internal is the code of a mistake of the server; empty: InternalFailure.
	Internal string
	// ErrorDetail says that errors in XML have an element Detail, which is empty.
	ErrorDetail bool
	Actions     []*Action
	// Refusal turns a refusal of the domain into an error of this service.
	Refusal func(protocol string, e *queue.Error) *awswire.Error
}

// Repeats says of each action whether a request for it may be sent again, for programs that
// call the service.
func (a *API) Repeats() map[string]service.Repeat {
	repeats := make(map[string]service.Repeat, len(a.Actions))
	for _, action := range a.Actions {
		repeats[action.Name] = action.Repeat
	}
	return repeats
}

// Line is a row of the table of actions: the name, the permission that a caller needs, and the resource.
type Line struct {
	Name string
	// Permission is as in an access policy; the batch form of an action has
	// that of the single one.
	Permission string
	// Resource finds what the action is about in its decoded input.
	Resource func(c *Call, input any) (service.Resource, error)
	// Beside are the permissions that the action needs beside; nil: none, since it touches no
	// other resource. It is asked when the caller may use Resource.
	Beside func(c *Call, input any) ([]service.Need, error)
	Effect service.Effect // required
	Repeat service.Repeat // required
	// Unseen is what a caller of another account is told who may not do it, instead of that:
	// as if there were no such thing. Nil: that it is denied.
	Unseen func() error
	// ByLink says that people follow a link to it, with a secret that no other page has.
	ByLink bool
	// Unsigned says, unless it is nil, whether a request for the action needs no signature,
	// whatever policies permit.
	Unsigned func(v queue.View, input any) bool
}

// complete panics, at the start of the program, on a line that does not say what its action
// does and what a caller must be permitted to do.
func (l Line) complete() Line {
	if l.Name == "" || l.Permission == "" || l.Resource == nil || l.Effect == 0 || l.Repeat == 0 {
		panic("aws: the line of the action " + l.Name + " lacks its permission, its resource, its effect or whether it may be repeated")
	}
	if l.Effect == service.Reads && l.Repeat != service.Repeatable {
		panic("aws: the action " + l.Name + " changes nothing, so it may be repeated")
	}
	return l
}

// Action is one action of an API with all that is needed to serve it.
type Action struct {
	Line
	in, out *awswire.Shape
	// newInput makes room for an input; execute takes one and gives an output.
	newInput func() any
	execute  func(ctx context.Context, c *Call, input any) (output any, err error)
	// begin begins what execute does; complete takes what that returns, once and maybe
	// before begin returns. While it waits it keeps no part of the input's texts, which are
	// parts of the request. Nil: the action does not wait.
	begin func(ctx context.Context, c *Call, input any, complete func(output any, err error))
}

// Nothing is the output of actions that have none.
type Nothing struct{}

// NoOutput is its schema.
var NoOutput = awswire.Structure[Nothing]()

// Define makes an action of its line, the schemas of its input and output, and
// the function that executes it.
func Define[In, Out any](line Line, in *awswire.Schema[In], out *awswire.Schema[Out],
	execute func(context.Context, *Call, *In) (*Out, error),
) *Action {
	return &Action{
		Line: line.complete(), in: &in.Shape, out: &out.Shape,
		newInput: func() any { return new(In) },
		execute:  func(ctx context.Context, c *Call, input any) (any, error) { return execute(ctx, c, input.(*In)) },
	}
}

// DefineWaiting is Define for an action that may wait for something to happen, and has no
// goroutine meanwhile: begin tells its end to complete, once and maybe before it returns.
func DefineWaiting[In, Out any](line Line, in *awswire.Schema[In], out *awswire.Schema[Out],
	begin func(ctx context.Context, c *Call, in *In, complete func(*Out, error)),
) *Action {
	type end struct {
		out *Out
		err error
	}
	a := Define(line, in, out, func(ctx context.Context, c *Call, in *In) (*Out, error) {
		ended := make(chan end, 1) // the one end
		begin(ctx, c, in, func(out *Out, err error) { ended <- end{out, err} })
		e := <-ended
		return e.out, e.err
	})
	a.begin = func(ctx context.Context, c *Call, input any, complete func(any, error)) {
		begin(ctx, c, input.(*In), func(out *Out, err error) { complete(out, err) })
	}
	return a
}

// Input describes the members of requests for the action.
func (a *Action) Input() []awswire.MemberInfo { return a.in.Members() }

// Output describes the members of its answers.
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

// resolve finds the resource of the call, records it for the action, the access log and the metrics, and
// refuses a caller without the permission. No other function does that.
func (c *Call) resolve(line Line, input any) error {
	resource, err := line.Resource(c, input)
	if err != nil {
		return err
	}
	// Names outlive the request, in counts, spans and waits, and are parts of its text.
	resource = service.Resource{Name: strings.Clone(resource.Name), Topic: strings.Clone(resource.Topic)}
	c.Resource = resource
	c.Record.Queue, c.Record.Topic, c.Record.Permission = resource.Name, resource.Topic, line.Permission
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
