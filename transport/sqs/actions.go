package sqs

import (
	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
)

// actions is the table of all actions.
func (s *Service) actions() []*aws.Action {
	return []*aws.Action{
		aws.Define(aws.Line{Name: "AddPermission", Permission: "sqs:AddPermission", Resource: byURL},
			addPermissionInputSchema, aws.NoOutput, s.addPermission),
		aws.Define(aws.Line{Name: "CancelMessageMoveTask", Permission: "sqs:CancelMessageMoveTask", Resource: bySource},
			cancelMessageMoveTaskInputSchema, cancelMessageMoveTaskOutputSchema, s.cancelMessageMoveTask),
		aws.Define(aws.Line{Name: "ChangeMessageVisibility", Permission: "sqs:ChangeMessageVisibility", Resource: byURL},
			changeMessageVisibilityInputSchema, aws.NoOutput, s.changeMessageVisibility),
		aws.Define(aws.Line{Name: "ChangeMessageVisibilityBatch", Permission: "sqs:ChangeMessageVisibility", Resource: byURL},
			changeMessageVisibilityBatchInputSchema, changeMessageVisibilityBatchOutputSchema, s.changeMessageVisibilityBatch),
		aws.Define(aws.Line{Name: "CreateQueue", Permission: "sqs:CreateQueue", Resource: byNewName, Beside: besideLetters},
			createQueueInputSchema, queueURLSchema, s.createQueue),
		aws.Define(aws.Line{Name: "DeleteMessage", Permission: "sqs:DeleteMessage", Resource: byURL},
			deleteMessageInputSchema, aws.NoOutput, s.deleteMessage),
		aws.Define(aws.Line{Name: "DeleteMessageBatch", Permission: "sqs:DeleteMessage", Resource: byURL},
			deleteMessageBatchInputSchema, deleteMessageBatchOutputSchema, s.deleteMessageBatch),
		aws.Define(aws.Line{Name: "DeleteQueue", Permission: "sqs:DeleteQueue", Resource: byURL},
			queueOnlySchema, aws.NoOutput, s.deleteQueue),
		aws.Define(aws.Line{Name: "GetQueueAttributes", Permission: "sqs:GetQueueAttributes", Resource: byURL, ReadOnly: true},
			getQueueAttributesInputSchema, getQueueAttributesOutputSchema, s.getQueueAttributes),
		aws.Define(aws.Line{Name: "GetQueueUrl", Permission: "sqs:GetQueueUrl", Resource: byNameAndOwner, Unseen: noSuchQueue, ReadOnly: true},
			getQueueURLInputSchema, queueURLSchema, s.getQueueURL),
		aws.Define(aws.Line{Name: "ListDeadLetterSourceQueues", Permission: "sqs:ListDeadLetterSourceQueues", Resource: byURL, ReadOnly: true},
			listDeadLetterSourceQueuesInputSchema, listDeadLetterSourceQueuesOutputSchema, s.listDeadLetterSourceQueues),
		aws.Define(aws.Line{Name: "ListMessageMoveTasks", Permission: "sqs:ListMessageMoveTasks", Resource: bySource, ReadOnly: true},
			listMessageMoveTasksInputSchema, listMessageMoveTasksOutputSchema, s.listMessageMoveTasks),
		aws.Define(aws.Line{Name: "ListQueueTags", Permission: "sqs:ListQueueTags", Resource: byURL, ReadOnly: true},
			queueOnlySchema, listQueueTagsOutputSchema, s.listQueueTags),
		aws.Define(aws.Line{Name: "ListQueues", Permission: "sqs:ListQueues", Resource: onAccount("ListQueues"), ReadOnly: true},
			listQueuesInputSchema, listQueuesOutputSchema, s.listQueues),
		aws.Define(aws.Line{Name: "PurgeQueue", Permission: "sqs:PurgeQueue", Resource: byURL},
			queueOnlySchema, aws.NoOutput, s.purgeQueue),
		aws.DefineWaiting(aws.Line{Name: "ReceiveMessage", Permission: "sqs:ReceiveMessage", Resource: byURL},
			receiveMessageInputSchema, receiveMessageOutputSchema, s.receiveMessage),
		aws.Define(aws.Line{Name: "RemovePermission", Permission: "sqs:RemovePermission", Resource: byURL},
			removePermissionInputSchema, aws.NoOutput, s.removePermission),
		aws.Define(aws.Line{Name: "SendMessage", Permission: "sqs:SendMessage", Resource: byURL},
			sendMessageInputSchema, sendMessageOutputSchema, s.sendMessage),
		aws.Define(aws.Line{Name: "SendMessageBatch", Permission: "sqs:SendMessage", Resource: byURL},
			sendMessageBatchInputSchema, sendMessageBatchOutputSchema, s.sendMessageBatch),
		aws.Define(aws.Line{Name: "SetQueueAttributes", Permission: "sqs:SetQueueAttributes", Resource: byURL, Beside: besideLetters},
			setQueueAttributesInputSchema, aws.NoOutput, s.setQueueAttributes),
		aws.Define(aws.Line{Name: "StartMessageMoveTask", Permission: "sqs:StartMessageMoveTask", Resource: bySource, Beside: besideMoved},
			startMessageMoveTaskInputSchema, startMessageMoveTaskOutputSchema, s.startMessageMoveTask),
		aws.Define(aws.Line{Name: "TagQueue", Permission: "sqs:TagQueue", Resource: byURL},
			tagQueueInputSchema, aws.NoOutput, s.tagQueue),
		aws.Define(aws.Line{Name: "UntagQueue", Permission: "sqs:UntagQueue", Resource: byURL},
			untagQueueInputSchema, aws.NoOutput, s.untagQueue),
	}
}

// queueOnlyInput is the input of actions that need nothing but a queue.
type queueOnlyInput struct{ onQueue }

var queueOnlySchema = awswire.Structure(
	awswire.OptionalString("QueueUrl", func(v *queueOnlyInput) *awswire.Text { return &v.QueueURL }),
)

// queueURLOutput is the output of CreateQueue and GetQueueUrl.
type queueURLOutput struct{ QueueURL string }

var queueURLSchema = awswire.Structure(
	awswire.String("QueueUrl", func(v *queueURLOutput) *string { return &v.QueueURL }),
)
