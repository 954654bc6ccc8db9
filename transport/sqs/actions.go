package sqs

import (
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/service"
)

// actions is the table of all actions.
func (s *Service) actions() []*aws.Action {
	return []*aws.Action{
		aws.Define(aws.Line{Name: "AddPermission", Effect: service.Audited, Permission: "sqs:AddPermission", Resource: byURL},
			addPermissionInputSchema, aws.NoOutput, s.addPermission),
		aws.Define(aws.Line{Name: "CancelMessageMoveTask", Effect: service.Changes,
			Permission: "sqs:CancelMessageMoveTask", Resource: bySource},
			cancelMessageMoveTaskInputSchema, cancelMessageMoveTaskOutputSchema, s.cancelMessageMoveTask),
		aws.Define(aws.Line{Name: "ChangeMessageVisibility", Effect: service.Changes,
			Permission: "sqs:ChangeMessageVisibility", Resource: byURL},
			changeMessageVisibilityInputSchema, aws.NoOutput, s.changeMessageVisibility),
		aws.Define(aws.Line{Name: "ChangeMessageVisibilityBatch", Effect: service.Changes,
			Permission: "sqs:ChangeMessageVisibility", Resource: byURL},
			changeMessageVisibilityBatchInputSchema, changeMessageVisibilityBatchOutputSchema, s.changeMessageVisibilityBatch),
		aws.Define(aws.Line{Name: "CreateQueue", Effect: service.Audited, Permission: "sqs:CreateQueue",
			Resource: byNewName, Needs: queueNeeds},
			createQueueInputSchema, queueURLSchema, s.createQueue),
		aws.Define(aws.Line{Name: "DeleteMessage", Effect: service.Changes, Permission: "sqs:DeleteMessage", Resource: byURL},
			deleteMessageInputSchema, aws.NoOutput, s.deleteMessage),
		aws.Define(aws.Line{Name: "DeleteMessageBatch", Effect: service.Changes, Permission: "sqs:DeleteMessage", Resource: byURL},
			deleteMessageBatchInputSchema, deleteMessageBatchOutputSchema, s.deleteMessageBatch),
		aws.Define(aws.Line{Name: "DeleteQueue", Effect: service.Audited, Permission: "sqs:DeleteQueue", Resource: byURL},
			queueOnlySchema, aws.NoOutput, s.deleteQueue),
		aws.Define(aws.Line{Name: "GetQueueAttributes", Effect: service.Reads, Permission: "sqs:GetQueueAttributes", Resource: byURL},
			getQueueAttributesInputSchema, getQueueAttributesOutputSchema, s.getQueueAttributes),
		aws.Define(aws.Line{Name: "GetQueueUrl", Effect: service.Reads, Permission: "sqs:GetQueueUrl",
			Resource: byNameAndOwner, Unseen: noSuchQueue},
			getQueueURLInputSchema, queueURLSchema, s.getQueueURL),
		aws.Define(aws.Line{Name: "ListDeadLetterSourceQueues", Effect: service.Reads,
			Permission: "sqs:ListDeadLetterSourceQueues", Resource: byURL},
			listDeadLetterSourceQueuesInputSchema, listDeadLetterSourceQueuesOutputSchema, s.listDeadLetterSourceQueues),
		aws.Define(aws.Line{Name: "ListMessageMoveTasks", Effect: service.Reads,
			Permission: "sqs:ListMessageMoveTasks", Resource: bySource},
			listMessageMoveTasksInputSchema, listMessageMoveTasksOutputSchema, s.listMessageMoveTasks),
		aws.Define(aws.Line{Name: "ListQueueTags", Effect: service.Reads, Permission: "sqs:ListQueueTags", Resource: byURL},
			queueOnlySchema, listQueueTagsOutputSchema, s.listQueueTags),
		aws.Define(aws.Line{Name: "ListQueues", Effect: service.Reads, Permission: "sqs:ListQueues", Resource: onAccount("ListQueues")},
			listQueuesInputSchema, listQueuesOutputSchema, s.listQueues),
		aws.Define(aws.Line{Name: "PurgeQueue", Effect: service.Audited, Permission: "sqs:PurgeQueue", Resource: byURL},
			queueOnlySchema, aws.NoOutput, s.purgeQueue),
		aws.DefineWaiting(aws.Line{Name: "ReceiveMessage", Effect: service.Changes, Permission: "sqs:ReceiveMessage", Resource: byURL},
			receiveMessageInputSchema, receiveMessageOutputSchema, s.receiveMessage),
		aws.Define(aws.Line{Name: "RemovePermission", Effect: service.Audited, Permission: "sqs:RemovePermission", Resource: byURL},
			removePermissionInputSchema, aws.NoOutput, s.removePermission),
		aws.Define(aws.Line{Name: "SendMessage", Effect: service.Changes, Permission: "sqs:SendMessage", Resource: byURL},
			sendMessageInputSchema, sendMessageOutputSchema, s.sendMessage),
		aws.Define(aws.Line{Name: "SendMessageBatch", Effect: service.Changes, Permission: "sqs:SendMessage", Resource: byURL},
			sendMessageBatchInputSchema, sendMessageBatchOutputSchema, s.sendMessageBatch),
		aws.Define(aws.Line{Name: "SetQueueAttributes", Effect: service.Audited,
			Permission: "sqs:SetQueueAttributes", Resource: byURL, Needs: queueNeeds},
			setQueueAttributesInputSchema, aws.NoOutput, s.setQueueAttributes),
		aws.Define(aws.Line{Name: "StartMessageMoveTask", Effect: service.Audited,
			Permission: "sqs:StartMessageMoveTask", Resource: bySource, Needs: moveNeeds},
			startMessageMoveTaskInputSchema, startMessageMoveTaskOutputSchema, s.startMessageMoveTask),
		aws.Define(aws.Line{Name: "TagQueue", Effect: service.Changes, Permission: "sqs:TagQueue", Resource: byURL},
			tagQueueInputSchema, aws.NoOutput, s.tagQueue),
		aws.Define(aws.Line{Name: "UntagQueue", Effect: service.Changes, Permission: "sqs:UntagQueue", Resource: byURL},
			untagQueueInputSchema, aws.NoOutput, s.untagQueue),
	}
}

// queueOnlyInput is the input of actions with only a queue.
type queueOnlyInput struct{ onQueue }

var queueOnlySchema = awswire.Structure(
	awswire.OptionalString("QueueUrl", func(v *queueOnlyInput) *awswire.Text { return &v.QueueURL }),
)

// queueURLOutput is the output of CreateQueue and GetQueueUrl.
type queueURLOutput struct{ QueueURL string }

var queueURLSchema = awswire.Structure(
	awswire.String("QueueUrl", func(v *queueURLOutput) *string { return &v.QueueURL }),
)
