package grpc

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// method is a row of the table of methods.
type method struct {
	// permission is what a caller must be permitted to do, as in an access policy.
	permission string
	// beside are the permissions that a call needs beside; nil: none, since it touches no other
	// resource. It is asked when the caller may use what the call is about.
	beside func(c *call) ([]aws.Need, error)
}

// methodTable has a row for each method. Settlements on the stream of Consume have a table of their
// own.
var methodTable = map[string]method{
	"CreateQueue":           {permission: "sqs:CreateQueue", beside: besideLetters},
	"DeleteQueue":           {permission: "sqs:DeleteQueue"},
	"ListQueues":            {permission: "sqs:ListQueues"},
	"ListDeadLetterSources": {permission: "sqs:ListDeadLetterSourceQueues"},
	"GetQueueAttributes":    {permission: "sqs:GetQueueAttributes"},
	"SetQueueAttributes":    {permission: "sqs:SetQueueAttributes", beside: besideLetters},
	"AddPermission":         {permission: "sqs:AddPermission"},
	"RemovePermission":      {permission: "sqs:RemovePermission"},
	"TagQueue":              {permission: "sqs:TagQueue"},
	"UntagQueue":            {permission: "sqs:UntagQueue"},
	"ListQueueTags":         {permission: "sqs:ListQueueTags"},
	"PurgeQueue":            {permission: "sqs:PurgeQueue"},
	"Send":                  {permission: "sqs:SendMessage"},
	"SendStream":            {permission: "sqs:SendMessage"},
	"Receive":               {permission: "sqs:ReceiveMessage"},
	"Consume":               {permission: "sqs:ReceiveMessage"},
	"Delete":                {permission: "sqs:DeleteMessage"},
	"ChangeVisibility":      {permission: "sqs:ChangeMessageVisibility"},
	"StartMoveTask":         {permission: "sqs:StartMessageMoveTask", beside: besideMoved},
	"CancelMoveTask":        {permission: "sqs:CancelMessageMoveTask"},
	"ListMoveTasks":         {permission: "sqs:ListMessageMoveTasks"},

	"CreateTopic":               {permission: "sns:CreateTopic"},
	"DeleteTopic":               {permission: "sns:DeleteTopic"},
	"ListTopics":                {permission: "sns:ListTopics"},
	"GetTopicAttributes":        {permission: "sns:GetTopicAttributes"},
	"SetTopicAttributes":        {permission: "sns:SetTopicAttributes"},
	"AddTopicPermission":        {permission: "sns:AddPermission"},
	"RemoveTopicPermission":     {permission: "sns:RemovePermission"},
	"TagTopic":                  {permission: "sns:TagResource"},
	"UntagTopic":                {permission: "sns:UntagResource"},
	"ListTopicTags":             {permission: "sns:ListTagsForResource"},
	"Subscribe":                 {permission: "sns:Subscribe", beside: besideSubscribed},
	"ConfirmSubscription":       {permission: "sns:ConfirmSubscription"},
	"Unsubscribe":               {permission: "sns:Unsubscribe"},
	"GetSubscriptionAttributes": {permission: "sns:GetSubscriptionAttributes"},
	"SetSubscriptionAttributes": {permission: "sns:SetSubscriptionAttributes", beside: besideReplayed},
	"ListSubscriptions":         {permission: "sns:ListSubscriptions"},
	"Publish":                   {permission: "sns:Publish"},
	"PublishStream":             {permission: "sns:Publish"},

	"ScheduleMessages": {permission: "sqs:SendMessage"},
	"CancelScheduled":  {permission: "sqs:DeleteMessage"},
	"Peek":             {permission: "sqs:ReceiveMessage"},
	"Complete":         {permission: "sqs:DeleteMessage"},
	"Abandon":          {permission: "sqs:ChangeMessageVisibility"},
	"Renew":            {permission: "sqs:ChangeMessageVisibility"},
	"Defer":            {permission: "sqs:ChangeMessageVisibility"},
	"DeadLetter":       {permission: "sqs:DeleteMessage", beside: besideDeadLetter},
	"ReceiveDeferred":  {permission: "sqs:ReceiveMessage"},

	"AcceptSession":   {permission: "sqs:ReceiveMessage"},
	"RenewSession":    {permission: "sqs:ChangeMessageVisibility"},
	"ReleaseSession":  {permission: "sqs:ChangeMessageVisibility"},
	"GetSessionState": {permission: "sqs:ReceiveMessage"},
	"SetSessionState": {permission: "sqs:ReceiveMessage"},
	"ListSessions":    {permission: "sqs:ReceiveMessage"},

	"LookUpDeduplication":   {permission: "sqs:GetQueueAttributes"},
	"GetDeduplicationStats": {permission: "sqs:GetQueueAttributes"},
	"ForgetDeduplication":   {permission: "sqs:PurgeQueue"},
	"ListGroups":            {permission: "sqs:GetQueueAttributes"},
	"GetGroup":              {permission: "sqs:GetQueueAttributes"},
	"ReleaseGroup":          {permission: "sqs:ChangeMessageVisibility"},
}

// look reads a state that contains all that was acknowledged. Unlike read of a call, it may be
// used by settlements, which are beside the call's goroutine.
func (s *Server) look(ctx context.Context, read func(queue.View) error) error {
	_, err := s.Node.Read(ctx, read)
	return err
}

// besideLetters are what methods need that give attributes to a queue.
func besideLetters(c *call) ([]aws.Need, error) {
	given := c.request.(interface{ GetAttributes() map[string]string }).GetAttributes()
	return aws.QueueNeeds(c.resource.Name, queueAttributes(given)), nil
}

// besideMoved are what a move task needs.
func besideMoved(c *call) ([]aws.Need, error) {
	destination := c.request.(*seriatimpb.StartMoveTaskRequest).GetDestination()
	if destination != "" {
		destination = c.qualify(destination)
	}
	return aws.MoveNeeds(c.in.request.Context(), c.server.look, c.resource.Name, destination)
}

// besideDeadLetter are what it needs to move messages to the dead-letter queue.
func besideDeadLetter(c *call) ([]aws.Need, error) {
	return aws.LetterNeeds(c.in.request.Context(), c.server.look, c.resource.Name)
}

// besideSubscribed are what a subscription needs.
func besideSubscribed(c *call) ([]aws.Need, error) {
	in, subscribed := c.request.(*seriatimpb.SubscribeRequest), ""
	if in.GetQueue() != "" {
		subscribed = c.qualify(in.GetQueue())
	}
	return aws.SubscribeNeeds(c.resource.Topic, subscribed, queueAttributes(in.GetAttributes())), nil
}

// besideReplayed are what attributes of a subscription need.
func besideReplayed(c *call) ([]aws.Need, error) {
	in := c.request.(*seriatimpb.SetSubscriptionAttributesRequest)
	return aws.SubscriptionNeeds(c.in.request.Context(), c.server.look, c.resource.Topic, in.GetSubscriptionArn(), queueAttributes(in.GetAttributes()))
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
