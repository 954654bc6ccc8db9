package sqs

import (
	"github.com/seriatimq/seriatim/queue/arn"
	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

// onQueue is embedded in the input of actions that name a queue by its URL.
type onQueue struct{ QueueURL awswire.Text }

func (q *onQueue) queueURL() awswire.Text { return q.QueueURL }

// byURL finds the queue by QueueUrl, or else by the path of a Query request (recorded from AWS). A
// malformed URL names no existing queue.
func byURL(c *aws.Call, input any) (service.Resource, error) {
	parameter := input.(interface{ queueURL() awswire.Text }).queueURL()
	var id, name string
	switch {
	case parameter.Given:
		id, name = aws.NameInURL(parameter.Value)
		if name == "" {
			return service.Resource{}, refusal.NoSuchQueue()
		}
	case c.Form != nil:
		id, name = aws.PathQueue(c.Request.URL.Path)
	}
	if name == "" {
		return service.Resource{}, refusal.MissingParameter("QueueUrl")
	}
	return existing(name, c.Scope.Of(id, name))
}

// existing returns the resource of a queue. It refuses a name that is too long without a look at the
// state.
func existing(name, qualified string) (service.Resource, error) {
	if len(name) > limits.QueueNameLengthMax {
		return service.Resource{}, refusal.NoSuchQueue()
	}
	return service.Resource{Name: qualified}, nil
}

// named is embedded in the input of actions that name a queue by its name.
type named struct{ QueueName awswire.Text }

func (n *named) queueName() awswire.Text { return n.QueueName }

// givenName returns QueueName. An empty name is not missing (AWS).
func givenName(input any) (string, error) {
	name := input.(interface{ queueName() awswire.Text }).queueName()
	if !name.Given {
		return "", refusal.MissingParameter("QueueName")
	}
	return name.Value, nil
}

// byNewName finds the queue of CreateQueue. It refuses a request to the path of another queue.
func byNewName(c *aws.Call, input any) (service.Resource, error) {
	if _, err := onAccount("CreateQueue")(c, input); err != nil {
		return service.Resource{}, err
	}
	name, err := givenName(input)
	if err != nil {
		return service.Resource{}, err
	}
	// The limit for names depends on the kind of the queue, so the command refuses a name that is
	// too long. One byte too many suffices for that.
	return service.Resource{Name: c.Scope.Own(name[:min(len(name), limits.QueueNameLengthMax+1)])}, nil
}

// onAccount finds no resource, for actions that are not about one queue. It refuses the path of a
// queue (recorded from AWS).
func onAccount(action string) func(*aws.Call, any) (service.Resource, error) {
	return func(c *aws.Call, _ any) (service.Resource, error) {
		if _, name := aws.PathQueue(c.Request.URL.Path); c.Form != nil && name != "" {
			return service.Resource{}, aws.InvalidAction(action)
		}
		return service.Resource{}, nil
	}
}

func queueNeeds(c *aws.Call, input any) ([]service.Need, error) {
	given := input.(interface{ given() []awswire.Pair }).given()
	return service.QueueNeeds(c.Resource.Name, aws.Attributes(given)), nil
}

func moveNeeds(c *aws.Call, input any) ([]service.Need, error) {
	destination, err := input.(*startMessageMoveTaskInput).destination(&c.Scope)
	if err != nil {
		return nil, err
	}
	return service.MoveNeeds(c.Context(), c.Read, c.Resource.Name, destination)
}

// bySource finds the dead-letter queue of a move task.
func bySource(c *aws.Call, input any) (service.Resource, error) {
	name, err := input.(interface {
		source(*service.Scope) (string, error)
	}).source(&c.Scope)
	return service.Resource{Name: name}, err
}

// sourceInARN returns the queue in the required SourceArn.
func sourceInARN(s *service.Scope, text string) (string, error) {
	if text == "" {
		return "", refusal.MissingParameter("SourceArn")
	}
	return queueInARN(s, "SourceArn", text)
}

// queueInARN returns the queue in an ARN.
func queueInARN(s *service.Scope, parameter, text string) (string, error) {
	name, ok := arn.Queue(text)
	if !ok {
		return "", refusal.InvalidParameter("You must use this format to specify the " + parameter +
			": arn:<partition>:<service>:<region>:<account-id>:<resource-id>")
	}
	if len(name) > limits.QueueNameLengthMax || s.Elsewhere(text) {
		return "", refusal.NoSuchResource(parameter)
	}
	return s.Of(arn.AccountOf(text), name), nil
}
