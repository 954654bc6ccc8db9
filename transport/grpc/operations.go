package grpc

import (
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/service"
)

// operations implements the service Operations. Safe for concurrent use.
type operations struct {
	seriatimpb.UnimplementedOperationsServer
	server *Server
}

// onExplained sets the queue or the topic of an Explain. A topic needs the permission to read its
// attributes.
func onExplained(c *call, request any) error {
	in := request.(*seriatimpb.ExplainRequest)
	_, aboutSubscription := in.GetSubject().(*seriatimpb.ExplainRequest_Subscription)
	_, aboutGroup := in.GetSubject().(*seriatimpb.ExplainRequest_GroupId)
	_, aboutMessage := in.GetSubject().(*seriatimpb.ExplainRequest_Message)
	switch {
	case in.GetQueue() != "" && in.GetTopic() != "":
		return refusal.InvalidParameter("Explain takes a queue or a topic, not both.")
	case in.GetQueue() != "" && aboutSubscription:
		return refusal.InvalidParameter("A subscription belongs to a topic: name the topic instead of a queue.")
	case in.GetQueue() != "":
		return c.on(in.GetQueue())
	case in.GetTopic() == "" && !aboutSubscription:
		return refusal.MissingParameter("queue")
	case aboutGroup || aboutMessage:
		return refusal.InvalidParameter("A topic stores no messages: name a queue that is subscribed to it.")
	}
	c.method.permission = "sns:GetTopicAttributes"
	c.Record.Permission = c.method.permission
	if aboutSubscription {
		return c.onSubscription(in.GetSubscription().GetSubscriptionArn())
	}
	return c.onTopic(in.GetTopic())
}

// explainNeeds returns the Need for the content of a message.
func explainNeeds(c *call) ([]service.Need, error) {
	if _, aboutMessage := c.request.(*seriatimpb.ExplainRequest).GetSubject().(*seriatimpb.ExplainRequest_Message); !aboutMessage {
		return nil, nil
	}
	return []service.Need{{Permission: "sqs:ReceiveMessage", Resource: c.Resource}}, nil
}

// moveStoredNeeds returns the Needs of a move, as for a move task.
func moveStoredNeeds(c *call) ([]service.Need, error) {
	destination := c.request.(*seriatimpb.MoveStoredRequest).GetDestination()
	if destination != "" {
		destination = c.qualify(destination)
	}
	return service.MoveNeeds(c.in.request.Context(), c.server.look, c.Resource.Name, destination)
}
