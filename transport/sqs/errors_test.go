package sqs

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/queue/logtime"
	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/transport/auth/sigv4"
	"github.com/seriatimq/seriatim/transport/aws"
)

// errorRow is one row of the API's error table: a state of the server, a request, and the error in
// both protocols.
type errorRow struct {
	name    string
	setup   func(f *fixture) members // extra members, may be nil
	action  string
	in      members
	code    refusal.Code
	message string // the exact text
	part    string // or a part of it
}

func errorRows() []errorRow {
	const (
		requestType = " is invalid. Reason: The request include parameter that is not valid for this queue type."
		idRule      = " can only include alphanumeric and punctuation characters. 1 to 128 in length."
		batchIDs    = "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters " +
			"long."
	)
	std := func(f *fixture) members { f.create("q", nil); return members{"QueueUrl": f.url("q")} }
	fifo := func(f *fixture) members { f.create("q.fifo", nil); return members{"QueueUrl": f.url("q.fifo")} }
	small := func(f *fixture) members {
		f.create("q", members{"MaximumMessageSize": "1024"})
		return members{"QueueUrl": f.url("q")}
	}
	arn := func(name string) string { return "arn:aws:sqs:us-east-1:000000000000:" + name }
	entries := func(n int, id func(i int) string) []members {
		out := make([]members, n)
		for i := range out {
			out[i] = members{"Id": id(i), "MessageBody": "b"}
		}
		return out
	}
	handles := func(n int, id func(i int) string) []members {
		out := make([]members, n)
		for i := range out {
			out[i] = members{"Id": id(i), "ReceiptHandle": "h", "VisibilityTimeout": 1}
		}
		return out
	}
	numbered := func(i int) string { return "id" + strconv.Itoa(i) }
	repeated := func(i int) string { return []string{"id_1", "id_2", "id_2", "id_1"}[i] }
	bad := func(int) string { return ".!@#" }
	handle := base64.StdEncoding.EncodeToString([]byte(`{"taskId":"x","sourceArn":"` + arn("q") + `"}`))
	rows := []errorRow{
		{"create: bad name", nil, "CreateQueue", members{"QueueName": "in.fo"}, refusal.InvalidParameterValue,
			"Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length", ""},
		{"create: .fifo without FifoQueue", nil, "CreateQueue", members{"QueueName": "x.fifo"}, refusal.InvalidParameterValue,
			"Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length", ""},
		{"create: FifoQueue without .fifo", nil, "CreateQueue", members{"QueueName": "x", "Attributes": members{"FifoQueue": "true"}},
			refusal.InvalidParameterValue, "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, " +
				"must end with .fifo suffix and be 1 to 80 in length.", ""},
		{"create: differs", func(f *fixture) members { f.create("q", nil); return nil }, "CreateQueue",
			members{"QueueName": "q", "Attributes": members{"DelaySeconds": "2"}}, refusal.QueueNameExists,
			"A queue already exists with the same name and a different value for attribute DelaySeconds", ""},
		{"create: deleted recently", func(f *fixture) members {
			f.create("q", nil)
			f.ok(f.call(aws.JSON, "DeleteQueue", members{"QueueUrl": f.url("q")}))
			return nil
		}, "CreateQueue", members{"QueueName": "q"}, refusal.QueueDeletedRecently,
			"You must wait 60 seconds after deleting a queue before you can create another with the same name.", ""},
		{"create: unknown attribute", nil, "CreateQueue", members{"QueueName": "q", "Attributes": members{"Foo": "1"}},
			refusal.InvalidAttributeName, "Unknown Attribute Foo.", ""},
		{"create: FIFO attribute on standard", nil, "CreateQueue",
			members{"QueueName": "q", "Attributes": members{"ContentBasedDeduplication": "false"}}, refusal.InvalidAttributeName,
			"Unknown Attribute ContentBasedDeduplication.", ""},
		{"create: scope on standard", nil, "CreateQueue", members{"QueueName": "q",
			"Attributes": members{"DeduplicationScope": "queue"}}, refusal.InvalidAttributeName,
			"You can specify the DeduplicationScope only when FifoQueue is set to true.", ""},
		{"create: out of range", nil, "CreateQueue", members{"QueueName": "q", "Attributes": members{"VisibilityTimeout": "43201"}},
			refusal.InvalidAttributeValue, "Invalid value for the parameter VisibilityTimeout.", ""},
		{"create: no name", nil, "CreateQueue", members{}, refusal.MissingRequiredParameter,
			"The request must contain the parameter QueueName.", ""},
		{"set: FifoQueue=false", fifo, "SetQueueAttributes", members{"Attributes": members{"FifoQueue": "false"}},
			refusal.InvalidAttributeValue, "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.", ""},
		{"set: two encryptions", std, "SetQueueAttributes", members{"Attributes": members{"KmsMasterKeyId": "k",
			"SqsManagedSseEnabled": "true"}}, refusal.InvalidAttributeName,
			"You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE.", ""},
		{"set: no attributes", std, "SetQueueAttributes", members{}, refusal.MissingRequiredParameter,
			"The request must contain the parameter Attributes.", ""},
		{"set: redrive target unknown", std, "SetQueueAttributes",
			members{"Attributes": members{"RedrivePolicy": `{"deadLetterTargetArn":"` + arn("none") + `","maxReceiveCount":1}`}},
			refusal.InvalidParameterValue, "", "Reason: Dead letter target does not exist."},
		{"set: redrive target of the other type", func(f *fixture) members { f.create("dlq.fifo", nil); return std(f) },
			"SetQueueAttributes", members{"Attributes": members{"RedrivePolicy": `{"deadLetterTargetArn":"` + arn("dlq.fifo") +
				`","maxReceiveCount":1}`}}, refusal.InvalidParameterValue, "",
			"Reason: Dead-letter queue must be same type of queue as the source.."},
		{"get: unknown attribute", std, "GetQueueAttributes", members{"AttributeNames": []string{"Foobar"}},
			refusal.InvalidAttributeName, "Unknown Attribute Foobar.", ""},
		{"send: no body", std, "SendMessage", members{}, refusal.MissingRequiredParameter,
			"The request must contain the parameter MessageBody.", ""},
		{"send: empty body", std, "SendMessage", members{"MessageBody": ""}, refusal.MissingRequiredParameter,
			"The request must contain the parameter MessageBody.", ""},
		{"send: no queue", nil, "SendMessage", members{"MessageBody": "b"}, refusal.MissingRequiredParameter,
			"The request must contain the parameter QueueUrl.", ""},
		{"send: too long", small, "SendMessage", members{"MessageBody": strings.Repeat("a", 1017),
			"MessageAttributes": members{"k": text("x")}}, refusal.InvalidParameterValue,
			"One or more parameters are invalid. Reason: Message must be shorter than 1024 bytes.", ""},
		{"send: bad character", std, "SendMessage", members{"MessageBody": "a\x08"}, refusal.InvalidMessageContents, "",
			"Invalid characters found."},
		{"send: zero character", std, "SendMessage", members{"MessageBody": "\x00"}, refusal.InvalidMessageContents, "",
			"Invalid characters found."},
		{"send: bad deduplication id", fifo, "SendMessage", members{"MessageBody": "b", "MessageGroupId": "g",
			"MessageDeduplicationId": "group 123"}, refusal.InvalidParameterValue,
			"Value group 123 for parameter MessageDeduplicationId is invalid. Reason: MessageDeduplicationId" + idRule, ""},
		{"send: empty deduplication id", fifo, "SendMessage",
			members{"MessageBody": "b", "MessageGroupId": "g", "MessageDeduplicationId": ""}, refusal.InvalidParameterValue,
			"Value  for parameter MessageDeduplicationId is invalid. Reason: MessageDeduplicationId" + idRule, ""},
		{"send: bad group id", std, "SendMessage", members{"MessageBody": "b", "MessageGroupId": "group 123"},
			refusal.InvalidParameterValue, "Value group 123 for parameter MessageGroupId is invalid. Reason: MessageGroupId" + idRule, ""},
		{"send: no group id", fifo, "SendMessage", members{"MessageBody": "b"}, refusal.MissingRequiredParameter,
			"The request must contain the parameter MessageGroupId.", ""},
		{"send: no deduplication id", fifo, "SendMessage", members{"MessageBody": "b", "MessageGroupId": "g"},
			refusal.InvalidParameterValue, "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId " +
				"provided explicitly", ""},
		{"send: deduplication id on standard", std, "SendMessage", members{"MessageBody": "b", "MessageDeduplicationId": "d"},
			refusal.InvalidParameterValue, "Value d for parameter MessageDeduplicationId" + requestType, ""},
		{"send: delay on FIFO", fifo, "SendMessage", members{"MessageBody": "b", "MessageGroupId": "g", "MessageDeduplicationId": "d",
			"DelaySeconds": 2}, refusal.InvalidParameterValue, "Value 2 for parameter DelaySeconds" + requestType, ""},
		{"send: delay out of range", std, "SendMessage", members{"MessageBody": "b", "DelaySeconds": 901},
			refusal.InvalidParameterValue, "Value 901 for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= " +
				"900.", ""},
		{"send: empty attribute", std, "SendMessage", members{"MessageBody": "b",
			"MessageAttributes": members{"ErrorDetails": text("")}}, refusal.InvalidParameterValue,
			"Message (user) attribute 'ErrorDetails' must contain a non-empty value of type 'String'.", ""},
		{"send: attribute list", std, "SendMessage", members{"MessageBody": "b",
			"MessageAttributes": members{"a": members{"DataType": "String", "StringListValues": []string{"x"}}}},
			refusal.InvalidParameterValue, "Message attribute list values in SendMessage operation are not supported.", ""},
		{"send: system attribute", std, "SendMessage", members{"MessageBody": "b",
			"MessageSystemAttributes": members{"Foo": text("x")}}, refusal.InvalidParameterValue,
			"Message system attribute name 'Foo' is invalid.", ""},
		{"send: system attribute, queue unknown", nil, "SendMessage",
			members{"QueueUrl": "none", "MessageBody": "b", "MessageSystemAttributes": members{"Foo": text("x")}},
			refusal.QueueDoesNotExist, "", "The specified queue does not exist"},
		{"send batch: too long", std, "SendMessageBatch", members{"Entries": []members{{"Id": "a",
			"MessageBody": strings.Repeat("a", 1<<20)}, {"Id": "b", "MessageBody": "b"}}}, refusal.BatchRequestTooLong,
			"Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.", ""},
		{"send batch: FIFO without group", fifo, "SendMessageBatch",
			members{"Entries": []members{{"Id": "a", "MessageBody": "b", "MessageDeduplicationId": "d"}}},
			refusal.InvalidParameterValue, "The request must contain the parameter MessageGroupId.", ""},
		{"receive: too many", std, "ReceiveMessage", members{"MaxNumberOfMessages": 11}, refusal.InvalidParameterValue,
			"Value 11 for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.", ""},
		{"receive: waits too long", std, "ReceiveMessage", members{"WaitTimeSeconds": 21}, refusal.InvalidParameterValue,
			"Value 21 for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided.", ""},
		{"receive: negative wait", std, "ReceiveMessage", members{"WaitTimeSeconds": -1}, refusal.InvalidParameterValue,
			"Value -1 for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided.", ""},
		{"receive: visibility", std, "ReceiveMessage", members{"VisibilityTimeout": 43201}, refusal.InvalidParameterValue,
			"Value 43201 for parameter VisibilityTimeout is invalid. Reason: Must be >= 0 and <= 43200, if provided.", ""},
		{"receive: unknown attribute", std, "ReceiveMessage", members{"AttributeNames": []string{"Foo"}}, refusal.InvalidAttributeName,
			"Unknown Attribute Foo.", ""},
		{"receive: attempt id", fifo, "ReceiveMessage", members{"ReceiveRequestAttemptId": "a b"}, refusal.InvalidParameterValue,
			"Value a b for parameter ReceiveRequestAttemptId is invalid. Reason: ReceiveRequestAttemptId" + idRule, ""},
		{"receive: attempt not retryable", func(f *fixture) members {
			in := fifo(f)
			f.send("q.fifo", "b")
			a := f.ok(f.call(aws.JSON, "ReceiveMessage", members{"QueueUrl": f.url("q.fifo"), "ReceiveRequestAttemptId": "A"}))
			f.ok(f.call(aws.JSON, "DeleteMessage", members{"QueueUrl": f.url("q.fifo"), "ReceiptHandle": a.element("ReceiptHandle")}))
			return in
		}, "ReceiveMessage", members{"ReceiveRequestAttemptId": "A"}, refusal.InvalidParameterValue,
			"Value A for parameter ReceiveRequestAttemptId is invalid. Reason: The receiveRequestAttemptId is not valid anymore since " +
				"the receive call is not retryable.", ""},
		{"delete: malformed handle", std, "DeleteMessage", members{"ReceiptHandle": "garbage"}, refusal.ReceiptHandleIsInvalid,
			`The input receipt handle "garbage" is not a valid receipt handle.`, ""},
		{"delete: malformed handle, queue unknown", nil, "DeleteMessage", members{"QueueUrl": "none", "ReceiptHandle": "garbage"},
			refusal.QueueDoesNotExist, "", "The specified queue does not exist"},
		{"delete: no handle", std, "DeleteMessage", members{}, refusal.MissingRequiredParameter,
			"The request must contain the parameter ReceiptHandle.", ""},
		{"delete: expired on FIFO", func(f *fixture) members {
			in := fifo(f)
			f.send("q.fifo", "b")
			in["ReceiptHandle"] = f.receive("q.fifo", 0)
			return in
		}, "DeleteMessage", members{}, refusal.InvalidParameterValue, "", "is invalid. Reason: The receipt handle has expired."},
		{"visibility: malformed handle", std, "ChangeMessageVisibility", members{"ReceiptHandle": "INVALID", "VisibilityTimeout": 1},
			refusal.ReceiptHandleIsInvalid, `The input receipt handle "INVALID" is not a valid receipt handle.`, ""},
		{"visibility: none", std, "ChangeMessageVisibility", members{"ReceiptHandle": "h"}, refusal.MissingRequiredParameter,
			"The request must contain the parameter VisibilityTimeout.", ""},
		{"visibility: deleted", func(f *fixture) members {
			in := std(f)
			f.send("q", "b")
			in["ReceiptHandle"] = f.receive("q", 30)
			f.ok(f.call(aws.JSON, "DeleteMessage", in))
			return in
		}, "ChangeMessageVisibility", members{"VisibilityTimeout": 1}, refusal.InvalidParameterValue, "",
			"Reason: Message does not exist or is not available for visibility timeout change."},
		{"visibility: over 12 h", func(f *fixture) members {
			in := std(f)
			f.send("q", "b")
			in["ReceiptHandle"] = f.receive("q", 30)
			f.node.pass(logtime.Second)
			return in
		}, "ChangeMessageVisibility", members{"VisibilityTimeout": 43200}, refusal.InvalidParameterValue,
			"Value 43200 for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the message is beyond the " +
				"limit [43200 seconds].", ""},
		{"purge: twice", func(f *fixture) members {
			in := std(f)
			f.ok(f.call(aws.JSON, "PurgeQueue", in))
			return in
		}, "PurgeQueue", members{}, refusal.PurgeQueueInProgress, "Only one PurgeQueue operation on q is allowed every 60 seconds.", ""},
		{"permission: label exists", func(f *fixture) members {
			in := std(f)
			f.ok(f.call(aws.JSON, "AddPermission", members{"QueueUrl": f.url("q"), "Label": "L", "AWSAccountIds": []string{"1"},
				"Actions": []string{"SendMessage"}}))
			return in
		}, "AddPermission", members{"Label": "L", "AWSAccountIds": []string{"1"}, "Actions": []string{"SendMessage"}},
			refusal.InvalidParameterValue, "Value L for parameter Label is invalid. Reason: Already exists.", ""},
		{"permission: too many actions", std, "AddPermission",
			members{"Label": "L", "AWSAccountIds": []string{"1"},
				"Actions": strings.Fields("SendMessage ReceiveMessage DeleteMessage ChangeMessageVisibility GetQueueAttributes " +
					"GetQueueUrl ListDeadLetterSourceQueues PurgeQueue")}, refusal.OverLimit,
			"8 Actions were found, maximum allowed is 7.", ""},
		{"create: empty name", nil, "CreateQueue", members{"QueueName": ""}, refusal.InvalidParameterValue,
			"Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length", ""},
		{"permission: no accounts", std, "AddPermission", members{"Label": "L", "Actions": []string{"SendMessage"}},
			refusal.MissingRequiredParameter, "The request must contain the parameter AWSAccountIds.", ""},
		{"permission: label unknown", std, "RemovePermission", members{"Label": "L"}, refusal.InvalidParameterValue,
			"Value L for parameter Label is invalid. Reason: can't find label.", ""},
		{"move: nobody's", func(f *fixture) members { f.create("q", nil); return nil }, "StartMessageMoveTask",
			members{"SourceArn": arn("q")}, refusal.InvalidParameterValue, "Source queue must be configured as a Dead Letter Queue.", ""},
		{"move: source malformed", nil, "StartMessageMoveTask", members{"SourceArn": "q"}, refusal.InvalidParameterValue,
			"You must use this format to specify the SourceArn: arn:<partition>:<service>:<region>:<account-id>:<resource-id>", ""},
		{"move: source unknown", nil, "StartMessageMoveTask", members{"SourceArn": arn("q")}, refusal.ResourceNotFound,
			"The resource that you specified for the SourceArn parameter doesn't exist.", ""},
		{"move: destination unknown", deadLetter, "StartMessageMoveTask",
			members{"SourceArn": arn("dlq"), "DestinationArn": arn("none")}, refusal.ResourceNotFound,
			"The resource that you specified for the DestinationArn parameter doesn't exist.", ""},
		{"move: active", func(f *fixture) members {
			deadLetter(f)
			f.ok(f.call(aws.JSON, "StartMessageMoveTask", members{"SourceArn": arn("dlq")}))
			return nil
		}, "StartMessageMoveTask", members{"SourceArn": arn("dlq")}, refusal.InvalidParameterValue,
			"There is already a task running. Only one active task is allowed for a source queue arn at a given time.", ""},
		{"cancel: malformed", nil, "CancelMessageMoveTask", members{"TaskHandle": "foobar"}, refusal.InvalidParameterValue,
			"Value for parameter TaskHandle is invalid.", ""},
		{"cancel: source unknown", nil, "CancelMessageMoveTask", members{"TaskHandle": handle}, refusal.ResourceNotFound,
			"The resource that you specified for the SourceArn parameter doesn't exist.", ""},
		{"cancel: task unknown", func(f *fixture) members { f.create("q", nil); return nil }, "CancelMessageMoveTask",
			members{"TaskHandle": handle}, refusal.ResourceNotFound, "Task does not exist.", ""},
		{"list tasks: source unknown", nil, "ListMessageMoveTasks", members{"SourceArn": arn("q")}, refusal.ResourceNotFound,
			"The resource that you specified for the SourceArn parameter doesn't exist.", ""},
		{"list tasks: too many", func(f *fixture) members { f.create("q", nil); return nil }, "ListMessageMoveTasks",
			members{"SourceArn": arn("q"), "MaxResults": 11}, refusal.InvalidParameterValue, "", "Must be between 1 and 10"},
		{"tag: no tags", std, "TagQueue", members{"Tags": members{}}, refusal.MissingRequiredParameter,
			"The request must contain the parameter Tags.", ""},
		{"untag: no keys", std, "UntagQueue", members{"TagKeys": []string{}}, refusal.InvalidParameterValue,
			"Tag keys must be between 1 and 128 characters in length.", ""},
		{"list: too many", nil, "ListQueues", members{"MaxResults": 1001}, refusal.InvalidParameterValue, "",
			"Value 1001 for parameter MaxResults is invalid."},
		{"list: bad token", nil, "ListQueues", members{"NextToken": "x"}, refusal.InvalidParameterValue, "",
			"Value x for parameter NextToken is invalid."},
	}
	for action, entry := range map[string]struct {
		name  string
		build func(int, func(int) string) []members
	}{
		"SendMessageBatch":             {sendEntryName, entries},
		"DeleteMessageBatch":           {deleteEntryName, handles},
		"ChangeMessageVisibilityBatch": {visibilityEntryName, handles},
	} {
		trim := func(list []members) []members {
			for _, e := range list {
				if action == "DeleteMessageBatch" {
					delete(e, "VisibilityTimeout")
				}
			}
			return list
		}
		rows = append(rows,
			errorRow{action + ": empty", std, action, members{"Entries": []members{}}, refusal.EmptyBatchRequest,
				"There should be at least one " + entry.name + " in the request.", ""},
			errorRow{action + ": 20 entries", std, action, members{"Entries": trim(entry.build(20, numbered))},
				refusal.TooManyEntriesInBatchRequest, "Maximum number of entries per request are 10. You have sent 20.", ""},
			errorRow{action + ": bad id", std, action, members{"Entries": trim(entry.build(1, bad))}, refusal.InvalidBatchEntryID,
				batchIDs, ""},
			errorRow{action + ": repeated id", std, action, members{"Entries": trim(entry.build(4, repeated))},
				refusal.BatchEntryIDsNotDistinct, "Id id_2 repeated.", ""},
			errorRow{action + ": repeated id, queue unknown", nil, action,
				members{"QueueUrl": "none", "Entries": trim(entry.build(4, repeated))}, refusal.QueueDoesNotExist, "",
				"The specified queue does not exist"},
		)
	}
	for _, action := range []string{"DeleteQueue", "GetQueueAttributes", "ListDeadLetterSourceQueues", "ListQueueTags", "PurgeQueue",
		"ReceiveMessage"} {
		rows = append(rows,
			errorRow{action + ": queue unknown", nil, action, members{"QueueUrl": "http://example.org/000000000000/none"},
				refusal.QueueDoesNotExist, "", "The specified queue does not exist"},
			errorRow{action + ": queue malformed", nil, action, members{"QueueUrl": "http://example.org/none"},
				refusal.QueueDoesNotExist, "", "The specified queue does not exist"})
	}
	return append(rows, errorRow{"GetQueueUrl: queue unknown", nil, "GetQueueUrl", members{"QueueName": "none"},
		refusal.QueueDoesNotExist, "", "The specified queue does not exist"})
}

// deadLetter creates q with the dead-letter queue dlq.
func deadLetter(f *fixture) members {
	f.create("dlq", nil)
	f.create("q", members{"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dlq","maxReceiveCount":1}`})
	return nil
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, row := range errorRows() {
		for _, protocol := range protocols {
			t.Run(row.name+"/"+protocol, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				in := maps.Clone(row.in)
				if row.setup != nil {
					maps.Copy(in, row.setup(f))
				}
				checkError(t, f.call(protocol, row.action, in), row)
			})
		}
	}
}

func checkError(t *testing.T, a answer, row errorRow) {
	t.Helper()
	form := forms[row.code]
	if a.status != form.Status || a.code != form.Code || a.fault != "Sender" {
		t.Errorf("got %d %s %s, want %+v: %s", a.status, a.code, a.fault, form, a.body)
	}
	if a.protocol == aws.JSON && a.errType != form.Type {
		t.Errorf("__type is %q, want %q", a.errType, form.Type)
	}
	if row.message != "" && a.message != row.message {
		t.Errorf("got  %q\nwant %q", a.message, row.message)
	}
	if !strings.Contains(a.message, row.part) {
		t.Errorf("got  %q\nwant a text with %q", a.message, row.part)
	}
	if row.code == refusal.QueueDoesNotExist {
		want := map[string]string{
			aws.JSON:  "The specified queue does not exist.",
			aws.Query: "The specified queue does not exist for this wsdl version.",
		}[a.protocol]
		if a.message != want {
			t.Errorf("got  %q\nwant %q", a.message, want)
		}
	}
}

func TestClusterErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		err    error
		status int
		code   string
	}{
		{"unavailable", cluster.ErrUnavailable, 503, "ServiceUnavailable"},
		{"not leader", cluster.ErrNotLeader, 503, "ServiceUnavailable"},
		{"overloaded", cluster.ErrOverloaded, 503, "ServiceUnavailable"},
		{"upgrade needed", &cluster.UpgradeNeededError{Reason: "the format is old"}, 503, "ServiceUnavailable"},
		{"outcome unknown", fmt.Errorf("wrapped: %w", cluster.ErrOutcomeUnknown), 503, "OutcomeUnknown"},
		{"unexpected", errors.New("disk on fire"), 500, "InternalFailure"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			both(t, func(t *testing.T, f *fixture, protocol string) {
				f.node.fail = tc.err
				for _, action := range []string{"SendMessage", "GetQueueAttributes"} {
					a := f.call(protocol, action, map[string]members{
						"SendMessage":        {"QueueUrl": "q", "MessageBody": "b"},
						"GetQueueAttributes": {"QueueUrl": "q"},
					}[action])
					if a.status != tc.status || a.code != tc.code || a.fault != "Receiver" {
						t.Errorf("%s: got %d %s %s", action, a.status, a.code, a.fault)
					}
					if upgrade := strings.Contains(a.message,
						"cannot do this yet: the format is old."); upgrade != (tc.name == "upgrade needed") {
						t.Errorf("%s: %s", action, a.message)
					}
					if strings.Contains(a.message, "disk on fire") {
						t.Errorf("an internal error leaks: %s", a.message)
					}
				}
			})
		})
	}
}

// oneKey knows a single key.
type oneKey struct{ id, secret string }

func (k oneKey) Secret(id string) (string, bool, error) { return k.secret, id == k.id, nil }

// The signature of a native call does not cover its body. It must not be valid for a form that is
// posted to the same path, because the body of a form names the action.
func TestSignaturesOfNativeCalls(t *testing.T) {
	f := newFixture(t)
	f.create("q", nil)
	key := oneKey{"SRTMEXAMPLE00000001", "an-example-and-no-secret"}
	f.handler.Verifier = sigv4.New(key, time.Now)
	for path, want := range map[string]int{
		"/": http.StatusOK, "/000000000000/q": http.StatusOK,
		"/seriatim.v1.Queues/Receive": http.StatusForbidden, "/grpc.health.v1.Health/Check": http.StatusForbidden,
		// the same path in another form
		"//seriatim.v1.Queues/Receive": http.StatusForbidden, "/x/../seriatim.v1.Queues/./Receive": http.StatusForbidden,
	} {
		body := url.Values{"Action": {"GetQueueAttributes"}, "Version": {"2012-11-05"}, "QueueUrl": {f.url("q")}}.Encode()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.server.URL+path, strings.NewReader(body))
		clustertest.Must(t, err)
		(&sigv4.Signer{KeyID: key.id, Secret: key.secret, Region: "us-east-1", Service: "sqs", Now: time.Now}).SignHead(r)
		r.Header.Set("Content-Type", aws.FormType)
		if got := f.do(aws.Query, r); got.status != want || want == http.StatusForbidden && got.code != "SignatureDoesNotMatch" {
			t.Errorf("%s: %d %s, want %d", path, got.status, got.code, want)
		}
	}
}
