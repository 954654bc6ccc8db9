package sqs

import (
	"context"

	"github.com/seriatimq/seriatim/transport/awswire"
)

// action is one line of the action table: what the wire layer, authorisation,
// metrics and the manual need to know of an action.
type action struct {
	name       string
	permission string // as in an access policy
	account    bool   // not about one queue: refused on the path of a queue
	reads      bool   // changes nothing
	input      []awswire.MemberInfo
	output     []awswire.MemberInfo
	serve      func(s *Service, ctx context.Context, c *call, dst []byte) ([]byte, error)
}

// actionTable is the list of all actions by name.
func actionTable() map[string]*action {
	table := make(map[string]*action)
	for _, a := range []*action{
		define("AddPermission", addPermissionInputSchema, noOutput, (*Service).addPermission),
		define("CancelMessageMoveTask", cancelMessageMoveTaskInputSchema, cancelMessageMoveTaskOutputSchema, (*Service).cancelMessageMoveTask),
		define("ChangeMessageVisibility", changeMessageVisibilityInputSchema, noOutput, (*Service).changeMessageVisibility),
		define("ChangeMessageVisibilityBatch", changeMessageVisibilityBatchInputSchema, changeMessageVisibilityBatchOutputSchema, (*Service).changeMessageVisibilityBatch),
		define("CreateQueue", createQueueInputSchema, queueURLSchema, (*Service).createQueue).forAccount(),
		define("DeleteMessage", deleteMessageInputSchema, noOutput, (*Service).deleteMessage),
		define("DeleteMessageBatch", deleteMessageBatchInputSchema, deleteMessageBatchOutputSchema, (*Service).deleteMessageBatch),
		define("DeleteQueue", queueOnlySchema, noOutput, (*Service).deleteQueue),
		define("GetQueueAttributes", getQueueAttributesInputSchema, getQueueAttributesOutputSchema, (*Service).getQueueAttributes).readOnly(),
		define("GetQueueUrl", getQueueURLInputSchema, queueURLSchema, (*Service).getQueueURL).readOnly(),
		define("ListDeadLetterSourceQueues", listDeadLetterSourceQueuesInputSchema, listDeadLetterSourceQueuesOutputSchema, (*Service).listDeadLetterSourceQueues).readOnly(),
		define("ListMessageMoveTasks", listMessageMoveTasksInputSchema, listMessageMoveTasksOutputSchema, (*Service).listMessageMoveTasks).readOnly(),
		define("ListQueueTags", queueOnlySchema, listQueueTagsOutputSchema, (*Service).listQueueTags).readOnly(),
		define("ListQueues", listQueuesInputSchema, listQueuesOutputSchema, (*Service).listQueues).forAccount().readOnly(),
		define("PurgeQueue", queueOnlySchema, noOutput, (*Service).purgeQueue),
		define("ReceiveMessage", receiveMessageInputSchema, receiveMessageOutputSchema, (*Service).receiveMessage),
		define("RemovePermission", removePermissionInputSchema, noOutput, (*Service).removePermission),
		define("SendMessage", sendMessageInputSchema, sendMessageOutputSchema, (*Service).sendMessage),
		define("SendMessageBatch", sendMessageBatchInputSchema, sendMessageBatchOutputSchema, (*Service).sendMessageBatch),
		define("SetQueueAttributes", setQueueAttributesInputSchema, noOutput, (*Service).setQueueAttributes),
		define("StartMessageMoveTask", startMessageMoveTaskInputSchema, startMessageMoveTaskOutputSchema, (*Service).startMessageMoveTask),
		define("TagQueue", tagQueueInputSchema, noOutput, (*Service).tagQueue),
		define("UntagQueue", untagQueueInputSchema, noOutput, (*Service).untagQueue),
	} {
		table[a.name] = a
	}
	return table
}

// nothing is the output of actions that have none.
type nothing struct{}

var noOutput = awswire.Structure[nothing]()

// define makes a line of the table from an action's method and the schemas of
// its input and output.
func define[In, Out any](name string, in *awswire.Schema[In], out *awswire.Schema[Out],
	method func(*Service, context.Context, *call, *In) (*Out, error),
) *action {
	empty := len(out.Members()) == 0
	serve := func(s *Service, ctx context.Context, c *call, dst []byte) ([]byte, error) {
		input := new(In)
		var err error
		if c.form != nil {
			err = in.DecodeForm(c.form, input)
		} else {
			err = in.DecodeJSON(c.body, input)
		}
		if err != nil {
			return nil, err
		}
		output, err := method(s, ctx, c, input)
		if err != nil {
			return nil, err
		}
		if c.form != nil {
			return out.AppendXML(dst, namespace, name, c.record.ID, output), nil
		}
		if empty {
			// AWS answers with an empty body, which all SDKs accept.
			return dst, nil
		}
		return out.AppendJSON(dst, output), nil
	}
	return &action{name: name, permission: "sqs:" + name, input: in.Members(), output: out.Members(), serve: serve}
}

// forAccount marks an action that is about the account and not about a queue.
func (a *action) forAccount() *action {
	a.account = true
	return a
}

// readOnly marks an action that changes nothing.
func (a *action) readOnly() *action {
	a.reads = true
	return a
}

// queueOnlyInput is the input of actions that need nothing but a queue.
type queueOnlyInput struct{ QueueURL awswire.Text }

var queueOnlySchema = awswire.Structure(
	awswire.OptionalString("QueueUrl", func(v *queueOnlyInput) *awswire.Text { return &v.QueueURL }),
)

// queueURLOutput is the output of CreateQueue and GetQueueUrl.
type queueURLOutput struct{ QueueURL string }

var queueURLSchema = awswire.Structure(
	awswire.String("QueueUrl", func(v *queueURLOutput) *string { return &v.QueueURL }),
)
