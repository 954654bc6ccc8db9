package grpc

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport"
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// method is a row of the table of methods.
type method struct {
	// permission names the permission that a caller needs, as in an access policy.
	permission string
	effect     transport.Effect // required
	// beside are the permissions that a call needs beside; nil: none, since it touches no other
	// resource. It is asked when the caller may use what the call is about.
	beside func(c *call) ([]aws.Need, error)
}

// methodTable has a row for each method. Settlements on the stream of Consume have a table of their
// own.
var methodTable = map[string]method{
	"CreateQueue":           {permission: "sqs:CreateQueue", effect: transport.Audited, beside: besideLetters},
	"DeleteQueue":           {permission: "sqs:DeleteQueue", effect: transport.Audited},
	"ListQueues":            {permission: "sqs:ListQueues", effect: transport.Reads},
	"ListDeadLetterSources": {permission: "sqs:ListDeadLetterSourceQueues", effect: transport.Reads},
	"GetQueueAttributes":    {permission: "sqs:GetQueueAttributes", effect: transport.Reads},
	"SetQueueAttributes":    {permission: "sqs:SetQueueAttributes", effect: transport.Audited, beside: besideLetters},
	"AddPermission":         {permission: "sqs:AddPermission", effect: transport.Audited},
	"RemovePermission":      {permission: "sqs:RemovePermission", effect: transport.Audited},
	"TagQueue":              {permission: "sqs:TagQueue", effect: transport.Changes},
	"UntagQueue":            {permission: "sqs:UntagQueue", effect: transport.Changes},
	"ListQueueTags":         {permission: "sqs:ListQueueTags", effect: transport.Reads},
	"PurgeQueue":            {permission: "sqs:PurgeQueue", effect: transport.Audited},
	"Send":                  {permission: "sqs:SendMessage", effect: transport.Changes},
	"SendStream":            {permission: "sqs:SendMessage", effect: transport.Changes},
	"Receive":               {permission: "sqs:ReceiveMessage", effect: transport.Changes},
	"Consume":               {permission: "sqs:ReceiveMessage", effect: transport.Changes},
	"Delete":                {permission: "sqs:DeleteMessage", effect: transport.Changes},
	"ChangeVisibility":      {permission: "sqs:ChangeMessageVisibility", effect: transport.Changes},
	"StartMoveTask":         {permission: "sqs:StartMessageMoveTask", effect: transport.Audited, beside: besideMoved},
	"CancelMoveTask":        {permission: "sqs:CancelMessageMoveTask", effect: transport.Changes},
	"ListMoveTasks":         {permission: "sqs:ListMessageMoveTasks", effect: transport.Reads},

	"CreateTopic":               {permission: "sns:CreateTopic", effect: transport.Audited},
	"DeleteTopic":               {permission: "sns:DeleteTopic", effect: transport.Audited},
	"ListTopics":                {permission: "sns:ListTopics", effect: transport.Reads},
	"GetTopicAttributes":        {permission: "sns:GetTopicAttributes", effect: transport.Reads},
	"SetTopicAttributes":        {permission: "sns:SetTopicAttributes", effect: transport.Audited},
	"AddTopicPermission":        {permission: "sns:AddPermission", effect: transport.Audited},
	"RemoveTopicPermission":     {permission: "sns:RemovePermission", effect: transport.Audited},
	"TagTopic":                  {permission: "sns:TagResource", effect: transport.Changes},
	"UntagTopic":                {permission: "sns:UntagResource", effect: transport.Changes},
	"ListTopicTags":             {permission: "sns:ListTagsForResource", effect: transport.Reads},
	"Subscribe":                 {permission: "sns:Subscribe", effect: transport.Changes, beside: besideSubscribed},
	"ConfirmSubscription":       {permission: "sns:ConfirmSubscription", effect: transport.Changes},
	"Unsubscribe":               {permission: "sns:Unsubscribe", effect: transport.Changes},
	"GetSubscriptionAttributes": {permission: "sns:GetSubscriptionAttributes", effect: transport.Reads},
	"SetSubscriptionAttributes": {permission: "sns:SetSubscriptionAttributes", effect: transport.Changes, beside: besideReplayed},
	"ListSubscriptions":         {permission: "sns:ListSubscriptions", effect: transport.Reads},
	"Publish":                   {permission: "sns:Publish", effect: transport.Changes},
	"PublishStream":             {permission: "sns:Publish", effect: transport.Changes},

	"ScheduleMessages": {permission: "sqs:SendMessage", effect: transport.Changes},
	"CancelScheduled":  {permission: "sqs:DeleteMessage", effect: transport.Changes},
	"Peek":             {permission: "sqs:ReceiveMessage", effect: transport.Reads},
	"Complete":         {permission: "sqs:DeleteMessage", effect: transport.Changes},
	"Abandon":          {permission: "sqs:ChangeMessageVisibility", effect: transport.Changes},
	"Renew":            {permission: "sqs:ChangeMessageVisibility", effect: transport.Changes},
	"Defer":            {permission: "sqs:ChangeMessageVisibility", effect: transport.Changes},
	"DeadLetter":       {permission: "sqs:DeleteMessage", effect: transport.Changes, beside: besideDeadLetter},
	"ReceiveDeferred":  {permission: "sqs:ReceiveMessage", effect: transport.Changes},

	"AcceptSession":   {permission: "sqs:ReceiveMessage", effect: transport.Changes},
	"RenewSession":    {permission: "sqs:ChangeMessageVisibility", effect: transport.Changes},
	"ReleaseSession":  {permission: "sqs:ChangeMessageVisibility", effect: transport.Changes},
	"GetSessionState": {permission: "sqs:ReceiveMessage", effect: transport.Reads},
	"SetSessionState": {permission: "sqs:ReceiveMessage", effect: transport.Changes},
	"ListSessions":    {permission: "sqs:ReceiveMessage", effect: transport.Reads},

	"LookUpDeduplication":   {permission: "sqs:GetQueueAttributes", effect: transport.Reads},
	"GetDeduplicationStats": {permission: "sqs:GetQueueAttributes", effect: transport.Reads},
	"ForgetDeduplication":   {permission: "sqs:PurgeQueue", effect: transport.Audited},
	"ListGroups":            {permission: "sqs:GetQueueAttributes", effect: transport.Reads},
	"GetGroup":              {permission: "sqs:GetQueueAttributes", effect: transport.Reads},
	"ReleaseGroup":          {permission: "sqs:ChangeMessageVisibility", effect: transport.Audited},
}

// look reads a state that contains all that was acknowledged. Unlike read of a call, it may be
// used by settlements, which are beside the call's goroutine.
func (s *Server) look(ctx context.Context, read func(queue.View) error) error {
	_, err := s.Node.Read(ctx, read)
	return err
}

// besideLetters returns the needs of methods that give attributes to a queue.
func besideLetters(c *call) ([]aws.Need, error) {
	given := c.request.(interface{ GetAttributes() map[string]string }).GetAttributes()
	return aws.QueueNeeds(c.resource.Name, queueAttributes(given)), nil
}

// besideMoved returns the needs of a move task.
func besideMoved(c *call) ([]aws.Need, error) {
	destination := c.request.(*seriatimpb.StartMoveTaskRequest).GetDestination()
	if destination != "" {
		destination = c.qualify(destination)
	}
	return aws.MoveNeeds(c.in.request.Context(), c.server.look, c.resource.Name, destination)
}

// besideDeadLetter returns the permissions to move messages to the dead-letter queue.
func besideDeadLetter(c *call) ([]aws.Need, error) {
	return aws.LetterNeeds(c.in.request.Context(), c.server.look, c.resource.Name)
}

// besideSubscribed returns the needs of a subscription.
func besideSubscribed(c *call) ([]aws.Need, error) {
	in, subscribed := c.request.(*seriatimpb.SubscribeRequest), ""
	if in.GetQueue() != "" {
		subscribed = c.qualify(in.GetQueue())
	}
	return aws.SubscribeNeeds(c.resource.Topic, subscribed, queueAttributes(in.GetAttributes())), nil
}

// besideReplayed returns the needs of attributes of a subscription.
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
