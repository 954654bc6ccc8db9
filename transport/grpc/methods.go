package grpc

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/service"
)

// method is a row of the table of methods.
type method struct {
	// permission names the permission that a caller needs, as in an access policy.
	permission string
	effect     service.Effect // required
	// beside are the permissions that a call needs beside; nil: none, since it touches no other
	// resource. It is asked when the caller may use what the call is about.
	beside func(c *call) ([]service.Need, error)
}

// methodTable has a row for each method. Settlements on the stream of Consume have a table of their
// own.
var methodTable = map[string]method{
	"CreateQueue":           {permission: "sqs:CreateQueue", effect: service.Audited, beside: besideLetters},
	"DeleteQueue":           {permission: "sqs:DeleteQueue", effect: service.Audited},
	"ListQueues":            {permission: "sqs:ListQueues", effect: service.Reads},
	"ListDeadLetterSources": {permission: "sqs:ListDeadLetterSourceQueues", effect: service.Reads},
	"GetQueueAttributes":    {permission: "sqs:GetQueueAttributes", effect: service.Reads},
	"SetQueueAttributes":    {permission: "sqs:SetQueueAttributes", effect: service.Audited, beside: besideLetters},
	"AddPermission":         {permission: "sqs:AddPermission", effect: service.Audited},
	"RemovePermission":      {permission: "sqs:RemovePermission", effect: service.Audited},
	"TagQueue":              {permission: "sqs:TagQueue", effect: service.Changes},
	"UntagQueue":            {permission: "sqs:UntagQueue", effect: service.Changes},
	"ListQueueTags":         {permission: "sqs:ListQueueTags", effect: service.Reads},
	"PurgeQueue":            {permission: "sqs:PurgeQueue", effect: service.Audited},
	"Send":                  {permission: "sqs:SendMessage", effect: service.Changes},
	"SendStream":            {permission: "sqs:SendMessage", effect: service.Changes},
	"Receive":               {permission: "sqs:ReceiveMessage", effect: service.Changes},
	"Consume":               {permission: "sqs:ReceiveMessage", effect: service.Changes},
	"Delete":                {permission: "sqs:DeleteMessage", effect: service.Changes},
	"ChangeVisibility":      {permission: "sqs:ChangeMessageVisibility", effect: service.Changes},
	"StartMoveTask":         {permission: "sqs:StartMessageMoveTask", effect: service.Audited, beside: besideMoved},
	"CancelMoveTask":        {permission: "sqs:CancelMessageMoveTask", effect: service.Changes},
	"ListMoveTasks":         {permission: "sqs:ListMessageMoveTasks", effect: service.Reads},

	"CreateTopic":               {permission: "sns:CreateTopic", effect: service.Audited},
	"DeleteTopic":               {permission: "sns:DeleteTopic", effect: service.Audited},
	"ListTopics":                {permission: "sns:ListTopics", effect: service.Reads},
	"GetTopicAttributes":        {permission: "sns:GetTopicAttributes", effect: service.Reads},
	"SetTopicAttributes":        {permission: "sns:SetTopicAttributes", effect: service.Audited},
	"AddTopicPermission":        {permission: "sns:AddPermission", effect: service.Audited},
	"RemoveTopicPermission":     {permission: "sns:RemovePermission", effect: service.Audited},
	"TagTopic":                  {permission: "sns:TagResource", effect: service.Changes},
	"UntagTopic":                {permission: "sns:UntagResource", effect: service.Changes},
	"ListTopicTags":             {permission: "sns:ListTagsForResource", effect: service.Reads},
	"Subscribe":                 {permission: "sns:Subscribe", effect: service.Changes, beside: besideSubscribed},
	"ConfirmSubscription":       {permission: "sns:ConfirmSubscription", effect: service.Changes},
	"Unsubscribe":               {permission: "sns:Unsubscribe", effect: service.Changes},
	"GetSubscriptionAttributes": {permission: "sns:GetSubscriptionAttributes", effect: service.Reads},
	"SetSubscriptionAttributes": {permission: "sns:SetSubscriptionAttributes", effect: service.Changes, beside: besideReplayed},
	"ListSubscriptions":         {permission: "sns:ListSubscriptions", effect: service.Reads},
	"Publish":                   {permission: "sns:Publish", effect: service.Changes},
	"PublishStream":             {permission: "sns:Publish", effect: service.Changes},

	"ScheduleMessages": {permission: "sqs:SendMessage", effect: service.Changes},
	"CancelScheduled":  {permission: "sqs:DeleteMessage", effect: service.Changes},
	"Peek":             {permission: "sqs:ReceiveMessage", effect: service.Reads},
	"Complete":         {permission: "sqs:DeleteMessage", effect: service.Changes},
	"Abandon":          {permission: "sqs:ChangeMessageVisibility", effect: service.Changes},
	"Renew":            {permission: "sqs:ChangeMessageVisibility", effect: service.Changes},
	"Defer":            {permission: "sqs:ChangeMessageVisibility", effect: service.Changes},
	"DeadLetter":       {permission: "sqs:DeleteMessage", effect: service.Changes, beside: besideDeadLetter},
	"ReceiveDeferred":  {permission: "sqs:ReceiveMessage", effect: service.Changes},

	"AcceptSession":   {permission: "sqs:ReceiveMessage", effect: service.Changes},
	"RenewSession":    {permission: "sqs:ChangeMessageVisibility", effect: service.Changes},
	"ReleaseSession":  {permission: "sqs:ChangeMessageVisibility", effect: service.Changes},
	"GetSessionState": {permission: "sqs:ReceiveMessage", effect: service.Reads},
	"SetSessionState": {permission: "sqs:ReceiveMessage", effect: service.Changes},
	"ListSessions":    {permission: "sqs:ReceiveMessage", effect: service.Reads},

	"LookUpDeduplication":   {permission: "sqs:GetQueueAttributes", effect: service.Reads},
	"GetDeduplicationStats": {permission: "sqs:GetQueueAttributes", effect: service.Reads},
	"ForgetDeduplication":   {permission: "sqs:PurgeQueue", effect: service.Audited},
	"ListGroups":            {permission: "sqs:GetQueueAttributes", effect: service.Reads},
	"GetGroup":              {permission: "sqs:GetQueueAttributes", effect: service.Reads},
	"ReleaseGroup":          {permission: "sqs:ChangeMessageVisibility", effect: service.Audited},
}

// look reads a state that contains all that was acknowledged. Unlike read of a call, it may be
// used by settlements, which are beside the call's goroutine.
func (s *Server) look(ctx context.Context, read func(queue.View) error) error {
	_, err := s.Node.Read(ctx, read)
	return err
}

// besideLetters returns the needs of methods that give attributes to a queue.
func besideLetters(c *call) ([]service.Need, error) {
	given := c.request.(interface{ GetAttributes() map[string]string }).GetAttributes()
	return service.QueueNeeds(c.Resource.Name, queueAttributes(given)), nil
}

// besideMoved returns the needs of a move task.
func besideMoved(c *call) ([]service.Need, error) {
	destination := c.request.(*seriatimpb.StartMoveTaskRequest).GetDestination()
	if destination != "" {
		destination = c.qualify(destination)
	}
	return service.MoveNeeds(c.in.request.Context(), c.server.look, c.Resource.Name, destination)
}

// besideDeadLetter returns the permissions to move messages to the dead-letter queue.
func besideDeadLetter(c *call) ([]service.Need, error) {
	return service.DeadLetterNeeds(c.in.request.Context(), c.server.look, c.Resource.Name)
}

// besideSubscribed returns the needs of a subscription.
func besideSubscribed(c *call) ([]service.Need, error) {
	in, subscribed := c.request.(*seriatimpb.SubscribeRequest), ""
	if in.GetQueue() != "" {
		subscribed = c.qualify(in.GetQueue())
	}
	return service.SubscribeNeeds(c.Resource.Topic, subscribed, queueAttributes(in.GetAttributes())), nil
}

// besideReplayed returns the needs of attributes of a subscription.
func besideReplayed(c *call) ([]service.Need, error) {
	in := c.request.(*seriatimpb.SetSubscriptionAttributesRequest)
	return service.SubscriptionNeeds(c.in.request.Context(), c.server.look, c.Resource.Topic, in.GetSubscriptionArn(), queueAttributes(in.GetAttributes()))
}

// settlements is the table of what a caller of Consume must be permitted to do to settle
// messages in some way.
var settlements = map[seriatimpb.SettlementKind]method{
	seriatimpb.SettlementKind_SETTLEMENT_KIND_ACKNOWLEDGE: {permission: "sqs:DeleteMessage"},
	seriatimpb.SettlementKind_SETTLEMENT_KIND_ABANDON:     {permission: "sqs:ChangeMessageVisibility"},
	seriatimpb.SettlementKind_SETTLEMENT_KIND_EXTEND:      {permission: "sqs:ChangeMessageVisibility"},
	seriatimpb.SettlementKind_SETTLEMENT_KIND_DEFER:       {permission: "sqs:ChangeMessageVisibility"},
	seriatimpb.SettlementKind_SETTLEMENT_KIND_DEAD_LETTER: {permission: "sqs:DeleteMessage", beside: besideDeadLetter},
}
