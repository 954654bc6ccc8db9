package grpc

import (
	"context"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/service"
)

// method is a row of the table of methods.
type method struct {
	permission string         // of the caller, as in an access policy
	effect     service.Effect // required
	// subject notes the resource of a unary request and refuses callers without the
	// permission; nil: the method itself does.
	subject func(c *call, request any) error
	// needs returns the permissions for the other resources that the call touches; nil: none.
	// It is called when the caller has the permission for the subject.
	needs func(c *call) ([]service.Need, error)
}

// methodTable has a row for each method. The table settlements has one for each kind of
// settlement on the stream of Consume.
var methodTable = map[string]method{
	"CreateQueue":           {permission: "sqs:CreateQueue", effect: service.Audited, needs: queueNeeds},
	"DeleteQueue":           {permission: "sqs:DeleteQueue", effect: service.Audited, subject: onQueue},
	"ListQueues":            {permission: "sqs:ListQueues", effect: service.Reads, subject: onAccount},
	"ListDeadLetterSources": {permission: "sqs:ListDeadLetterSourceQueues", effect: service.Reads, subject: onQueue},
	"GetQueueAttributes":    {permission: "sqs:GetQueueAttributes", effect: service.Reads, subject: onQueue},
	"SetQueueAttributes":    {permission: "sqs:SetQueueAttributes", effect: service.Audited, subject: onQueue, needs: queueNeeds},
	"AddPermission":         {permission: "sqs:AddPermission", effect: service.Audited, subject: onQueue},
	"RemovePermission":      {permission: "sqs:RemovePermission", effect: service.Audited, subject: onQueue},
	"TagQueue":              {permission: "sqs:TagQueue", effect: service.Changes, subject: onQueue},
	"UntagQueue":            {permission: "sqs:UntagQueue", effect: service.Changes, subject: onQueue},
	"ListQueueTags":         {permission: "sqs:ListQueueTags", effect: service.Reads, subject: onQueue},
	"PurgeQueue":            {permission: "sqs:PurgeQueue", effect: service.Audited, subject: onQueue},
	"Send":                  {permission: "sqs:SendMessage", effect: service.Changes, subject: onQueue},
	"SendStream":            {permission: "sqs:SendMessage", effect: service.Changes},
	"Receive":               {permission: "sqs:ReceiveMessage", effect: service.Changes, subject: onQueue},
	"Consume":               {permission: "sqs:ReceiveMessage", effect: service.Changes},
	"Delete":                {permission: "sqs:DeleteMessage", effect: service.Changes, subject: onQueue},
	"ChangeVisibility":      {permission: "sqs:ChangeMessageVisibility", effect: service.Changes, subject: onQueue},
	"StartMoveTask":         {permission: "sqs:StartMessageMoveTask", effect: service.Audited, subject: onSource, needs: moveNeeds},
	"CancelMoveTask":        {permission: "sqs:CancelMessageMoveTask", effect: service.Changes, subject: onSource},
	"ListMoveTasks":         {permission: "sqs:ListMessageMoveTasks", effect: service.Reads, subject: onSource},

	"CreateTopic":               {permission: "sns:CreateTopic", effect: service.Audited},
	"DeleteTopic":               {permission: "sns:DeleteTopic", effect: service.Audited, subject: onTopic},
	"ListTopics":                {permission: "sns:ListTopics", effect: service.Reads, subject: onAccount},
	"GetTopicAttributes":        {permission: "sns:GetTopicAttributes", effect: service.Reads, subject: onTopic},
	"SetTopicAttributes":        {permission: "sns:SetTopicAttributes", effect: service.Audited, subject: onTopic},
	"AddTopicPermission":        {permission: "sns:AddPermission", effect: service.Audited, subject: onTopic},
	"RemoveTopicPermission":     {permission: "sns:RemovePermission", effect: service.Audited, subject: onTopic},
	"TagTopic":                  {permission: "sns:TagResource", effect: service.Changes, subject: onTopic},
	"UntagTopic":                {permission: "sns:UntagResource", effect: service.Changes, subject: onTopic},
	"ListTopicTags":             {permission: "sns:ListTagsForResource", effect: service.Reads, subject: onTopic},
	"Subscribe":                 {permission: "sns:Subscribe", effect: service.Changes, subject: onTopic, needs: subscribeNeeds},
	"ConfirmSubscription":       {permission: "sns:ConfirmSubscription", effect: service.Changes, subject: onTopic},
	"Unsubscribe":               {permission: "sns:Unsubscribe", effect: service.Changes, subject: onSubscription},
	"GetSubscriptionAttributes": {permission: "sns:GetSubscriptionAttributes", effect: service.Reads, subject: onSubscription},
	"SetSubscriptionAttributes": {permission: "sns:SetSubscriptionAttributes", effect: service.Changes, subject: onSubscription,
		needs: subscriptionNeeds},
	"ListRules":         {permission: "sns:GetSubscriptionAttributes", effect: service.Reads, subject: onSubscription},
	"PutRule":           {permission: "sns:SetSubscriptionAttributes", effect: service.Audited, subject: onSubscription},
	"RemoveRule":        {permission: "sns:SetSubscriptionAttributes", effect: service.Audited, subject: onSubscription},
	"TestRules":         {permission: "sns:GetSubscriptionAttributes", effect: service.Reads, subject: onSubscription},
	"ListSubscriptions": {permission: "sns:ListSubscriptions", effect: service.Reads},
	"Publish":           {permission: "sns:Publish", effect: service.Changes, subject: onTopic},
	"PublishStream":     {permission: "sns:Publish", effect: service.Changes},

	"ListScheduledPublishes":   {permission: "sns:Receive", effect: service.Reads, subject: onTopic},
	"CancelScheduledPublishes": {permission: "sns:Publish", effect: service.Changes, subject: onTopic},

	"ScheduleMessages": {permission: "sqs:SendMessage", effect: service.Changes, subject: onQueue},
	"CancelScheduled":  {permission: "sqs:DeleteMessage", effect: service.Changes, subject: onQueue},
	"Peek":             {permission: "sqs:ReceiveMessage", effect: service.Reads, subject: onQueue},
	"Complete":         {permission: "sqs:DeleteMessage", effect: service.Changes, subject: onQueue},
	"Abandon":          {permission: "sqs:ChangeMessageVisibility", effect: service.Changes, subject: onQueue},
	"Renew":            {permission: "sqs:ChangeMessageVisibility", effect: service.Changes, subject: onQueue},
	"Defer":            {permission: "sqs:ChangeMessageVisibility", effect: service.Changes, subject: onQueue},
	"DeadLetter":       {permission: "sqs:DeleteMessage", effect: service.Changes, subject: onQueue, needs: deadLetterNeeds},
	"ReceiveDeferred":  {permission: "sqs:ReceiveMessage", effect: service.Changes, subject: onQueue},

	"AcceptSession":   {permission: "sqs:ReceiveMessage", effect: service.Changes, subject: onQueue},
	"RenewSession":    {permission: "sqs:ChangeMessageVisibility", effect: service.Changes, subject: onQueue},
	"ReleaseSession":  {permission: "sqs:ChangeMessageVisibility", effect: service.Changes, subject: onQueue},
	"GetSessionState": {permission: "sqs:ReceiveMessage", effect: service.Reads, subject: onQueue},
	"SetSessionState": {permission: "sqs:ReceiveMessage", effect: service.Changes, subject: onQueue},
	"ListSessions":    {permission: "sqs:ReceiveMessage", effect: service.Reads, subject: onQueue},

	"LookUpDeduplication":   {permission: "sqs:GetQueueAttributes", effect: service.Reads, subject: onQueue},
	"GetDeduplicationStats": {permission: "sqs:GetQueueAttributes", effect: service.Reads, subject: onQueue},
	"ForgetDeduplication":   {permission: "sqs:PurgeQueue", effect: service.Audited, subject: onQueue},
	"ListGroups":            {permission: "sqs:GetQueueAttributes", effect: service.Reads, subject: onQueue},
	"GetGroup":              {permission: "sqs:GetQueueAttributes", effect: service.Reads, subject: onQueue},
	"ReleaseGroup":          {permission: "sqs:ChangeMessageVisibility", effect: service.Audited, subject: onQueue},

	"Explain":      {permission: "sqs:GetQueueAttributes", effect: service.Reads, subject: onExplained, needs: explainNeeds},
	"FindMessages": {permission: "sqs:ReceiveMessage", effect: service.Reads, subject: onQueue},
	"DeleteStored": {permission: "sqs:PurgeQueue", effect: service.Audited, subject: onQueue},
	"MoveStored":   {permission: "sqs:StartMessageMoveTask", effect: service.Audited, subject: onQueue, needs: moveStoredNeeds},
}

func onQueue(c *call, request any) error {
	return c.on(request.(interface{ GetQueue() string }).GetQueue())
}

func onTopic(c *call, request any) error {
	return c.onTopic(request.(interface{ GetTopic() string }).GetTopic())
}

func onSource(c *call, request any) error {
	return c.onSource(request.(interface{ GetSource() string }).GetSource())
}

func onSubscription(c *call, request any) error {
	return c.onSubscription(request.(interface{ GetSubscriptionArn() string }).GetSubscriptionArn())
}

func onAccount(c *call, _ any) error { return c.permit(service.Resource{}) }

// look reads a state that contains all acknowledged changes. Unlike Read of a call, other
// goroutines may use it.
func (s *Server) look(ctx context.Context, read func(queue.View) error) error {
	_, err := s.Node.Read(ctx, read)
	return err
}

func queueNeeds(c *call) ([]service.Need, error) {
	given := c.request.(interface{ GetAttributes() map[string]string }).GetAttributes()
	return service.QueueNeeds(c.Resource.Name, queueAttributes(given)), nil
}

func moveNeeds(c *call) ([]service.Need, error) {
	destination := c.request.(*seriatimpb.StartMoveTaskRequest).GetDestination()
	if destination != "" {
		destination = c.qualify(destination)
	}
	return service.MoveNeeds(c.in.request.Context(), c.server.look, c.Resource.Name, destination)
}

func deadLetterNeeds(c *call) ([]service.Need, error) {
	return service.DeadLetterNeeds(c.in.request.Context(), c.server.look, c.Resource.Name)
}

func subscribeNeeds(c *call) ([]service.Need, error) {
	in, subscribed := c.request.(*seriatimpb.SubscribeRequest), ""
	if in.GetQueue() != "" {
		subscribed = c.qualify(in.GetQueue())
	}
	return service.SubscribeNeeds(c.Resource.Topic, subscribed, queueAttributes(in.GetAttributes())), nil
}

func subscriptionNeeds(c *call) ([]service.Need, error) {
	in := c.request.(*seriatimpb.SetSubscriptionAttributesRequest)
	return service.SubscriptionNeeds(c.in.request.Context(), c.server.look, c.Resource.Topic, in.GetSubscriptionArn(),
		queueAttributes(in.GetAttributes()))
}

// settlements has the permissions for each kind of settlement on the stream of Consume.
var settlements = map[seriatimpb.SettlementKind]method{
	seriatimpb.SettlementKind_SETTLEMENT_KIND_ACKNOWLEDGE: {permission: "sqs:DeleteMessage"},
	seriatimpb.SettlementKind_SETTLEMENT_KIND_ABANDON:     {permission: "sqs:ChangeMessageVisibility"},
	seriatimpb.SettlementKind_SETTLEMENT_KIND_EXTEND:      {permission: "sqs:ChangeMessageVisibility"},
	seriatimpb.SettlementKind_SETTLEMENT_KIND_DEFER:       {permission: "sqs:ChangeMessageVisibility"},
	seriatimpb.SettlementKind_SETTLEMENT_KIND_DEAD_LETTER: {permission: "sqs:DeleteMessage", needs: deadLetterNeeds},
}
