package sns

import (
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

// actions is the table of all actions. The permissions of a subscription are those of its topic.
func actions() []*aws.Action {
	return []*aws.Action{
		aws.Define(aws.Line{Name: "AddPermission", Effect: service.Audited, Permission: "sns:AddPermission", Resource: byTopic},
			addPermissionInputSchema, aws.NoOutput, addPermission),
		aws.Define(aws.Line{Name: "ConfirmSubscription", Effect: service.Changes,
			Permission: "sns:ConfirmSubscription", Resource: byTopic, ByLink: true},
			confirmSubscriptionInputSchema, subscriptionOutputSchema, confirmSubscription),
		aws.Define(aws.Line{Name: "CreateTopic", Effect: service.Audited, Permission: "sns:CreateTopic", Resource: byNewName},
			createTopicInputSchema, createTopicOutputSchema, createTopic),
		aws.Define(aws.Line{Name: "DeleteTopic", Effect: service.Audited, Permission: "sns:DeleteTopic", Resource: byTopic},
			topicOnlySchema, aws.NoOutput, deleteTopic),
		aws.Define(aws.Line{Name: "GetDataProtectionPolicy", Effect: service.Reads,
			Permission: "sns:GetDataProtectionPolicy", Resource: byTopic},
			resourceOnlySchema, getDataProtectionPolicyOutputSchema, getDataProtectionPolicy),
		aws.Define(aws.Line{Name: "GetSubscriptionAttributes", Effect: service.Reads,
			Permission: "sns:GetSubscriptionAttributes", Resource: bySubscription},
			subscriptionOnlySchema, attributesOutputSchema, getSubscriptionAttributes),
		aws.Define(aws.Line{Name: "GetTopicAttributes", Effect: service.Reads, Permission: "sns:GetTopicAttributes", Resource: byTopic},
			topicOnlySchema, attributesOutputSchema, getTopicAttributes),
		aws.Define(aws.Line{Name: "ListSubscriptions", Effect: service.Reads, Permission: "sns:ListSubscriptions", Resource: onAccount},
			listSubscriptionsInputSchema, subscriptionsOutputSchema, listSubscriptions),
		aws.Define(aws.Line{Name: "ListSubscriptionsByTopic", Effect: service.Reads,
			Permission: "sns:ListSubscriptionsByTopic", Resource: byTopic},
			listSubscriptionsByTopicInputSchema, subscriptionsOutputSchema, listSubscriptionsByTopic),
		aws.Define(aws.Line{Name: "ListTagsForResource", Effect: service.Reads, Permission: "sns:ListTagsForResource", Resource: byTopic},
			resourceOnlySchema, listTagsForResourceOutputSchema, listTagsForResource),
		aws.Define(aws.Line{Name: "ListTopics", Effect: service.Reads, Permission: "sns:ListTopics", Resource: onAccount},
			listTopicsInputSchema, listTopicsOutputSchema, listTopics),
		aws.Define(aws.Line{Name: "Publish", Effect: service.Changes, Permission: "sns:Publish", Resource: byTarget},
			publishInputSchema, publishOutputSchema, publish),
		aws.Define(aws.Line{Name: "PublishBatch", Effect: service.Changes, Permission: "sns:Publish", Resource: byTopic},
			publishBatchInputSchema, publishBatchOutputSchema, publishBatch),
		aws.Define(aws.Line{Name: "PutDataProtectionPolicy", Effect: service.Changes,
			Permission: "sns:PutDataProtectionPolicy", Resource: byTopic},
			putDataProtectionPolicyInputSchema, aws.NoOutput, putDataProtectionPolicy),
		aws.Define(aws.Line{Name: "RemovePermission", Effect: service.Audited, Permission: "sns:RemovePermission", Resource: byTopic},
			removePermissionInputSchema, aws.NoOutput, removePermission),
		aws.Define(aws.Line{Name: "SetSubscriptionAttributes", Effect: service.Changes,
			Permission: "sns:SetSubscriptionAttributes", Resource: bySubscription, Needs: subscriptionNeeds},
			setSubscriptionAttributesInputSchema, aws.NoOutput, setSubscriptionAttributes),
		aws.Define(aws.Line{Name: "SetTopicAttributes", Effect: service.Audited, Permission: "sns:SetTopicAttributes", Resource: byTopic},
			setTopicAttributesInputSchema, aws.NoOutput, setTopicAttributes),
		aws.Define(aws.Line{Name: "Subscribe", Effect: service.Changes, Permission: "sns:Subscribe",
			Resource: byTopic, Needs: subscribeNeeds},
			subscribeInputSchema, subscriptionOutputSchema, subscribe),
		aws.Define(aws.Line{Name: "TagResource", Effect: service.Changes, Permission: "sns:TagResource", Resource: byTopic},
			tagResourceInputSchema, emptyResultSchema, tagResource),
		aws.Define(aws.Line{Name: "Unsubscribe", Effect: service.Changes, Permission: "sns:Unsubscribe",
			Resource: bySubscription, Unsigned: byUnsubscribeURL},
			subscriptionOnlySchema, aws.NoOutput, unsubscribe),
		aws.Define(aws.Line{Name: "UntagResource", Effect: service.Changes, Permission: "sns:UntagResource", Resource: byTopic},
			untagResourceInputSchema, emptyResultSchema, untagResource),
	}
}

// emptyResultSchema is the schema of an output without members that the model has.
var emptyResultSchema = awswire.EmptyResult[aws.Nothing]()

// topicOnlyInput is the input of actions with only a topic.
type topicOnlyInput struct{ onTopic }

var topicOnlySchema = awswire.Structure(topicMember(func(v *topicOnlyInput) *onTopic { return &v.onTopic }))

// resourceOnlyInput is the input of actions with only a resource.
type resourceOnlyInput struct{ onResource }

var resourceOnlySchema = awswire.Structure(resourceMember(func(v *resourceOnlyInput) *onResource { return &v.onResource }))

// subscriptionOnlyInput is the input of actions with only a subscription.
type subscriptionOnlyInput struct{ onSubscription }

var subscriptionOnlySchema = awswire.Structure(
	subscriptionMember(func(v *subscriptionOnlyInput) *onSubscription { return &v.onSubscription }),
)

// attributesOutput is the output of the actions that list attributes.
type attributesOutput struct{ Attributes []awswire.Pair }

var attributesOutputSchema = awswire.Structure(attributesMember(func(v *attributesOutput) *[]awswire.Pair { return &v.Attributes }))

// subscriptionOutput is the output of the actions that make a subscription.
type subscriptionOutput struct{ SubscriptionARN string }

var subscriptionOutputSchema = awswire.Structure(
	awswire.String("SubscriptionArn", func(v *subscriptionOutput) *string { return &v.SubscriptionARN }),
)
