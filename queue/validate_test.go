package queue

import (
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/queue/refusal"
	"github.com/seriatimq/seriatim/queue/refusal/refusaltest"
)

var aHandle = strings.Repeat("0", 56)

func TestValidate(t *testing.T) {
	const (
		standardName = "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"
		fifoName     = "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, " +
			"must end with .fifo suffix and be 1 to 800 in length."
		tagKey      = "Tag keys must be between 1 and 128 characters in length."
		tagValue    = "Tag values must be between 0 and 256 characters in length."
		maxMessages = " for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided."
		visibility  = " for parameter VisibilityTimeout is invalid. Reason: Must be >= 0 and <= 43200, if provided."
		rate        = " for parameter MaxNumberOfMessagesPerSecond is invalid. Reason: Must be between 1 and 500, if provided."
		attemptRule = " for parameter ReceiveRequestAttemptId is invalid. Reason: ReceiveRequestAttemptId can only " +
			"include alphanumeric and punctuation characters. 1 to 128 in length."
		labelRule = " for parameter Label is invalid. Reason: " + standardName + "."
	)
	fifo := []Attribute{{Name: "FifoQueue", Value: "True"}}
	cases := []struct {
		name    string
		command Command
		code    refusal.Code
		text    string
	}{
		{"clock", &AdvanceClock{}, 0, ""},
		{"format version", &SetFormatVersion{Version: 1}, 0, ""},
		{"format version 0", &SetFormatVersion{}, refusal.InvalidFormatVersion, "the format version must be above 0"},

		{"cluster id", &SetClusterSetting{"cluster-id", "3f2a"}, 0, ""},
		{"cluster id empty", &SetClusterSetting{"cluster-id", ""}, refusal.InvalidClusterSetting,
			"cluster setting cluster-id must have 1 to 64 characters"},
		{"cluster id of 65", &SetClusterSetting{"cluster-id", strings.Repeat("x", 65)}, refusal.InvalidClusterSetting,
			"cluster setting cluster-id must have 1 to 64 characters"},
		{"receipt key", &SetClusterSetting{"receipt-key", strings.Repeat("0f", 16)}, 0, ""},
		{"receipt key in upper case", &SetClusterSetting{"receipt-key", strings.Repeat("0F", 16)}, refusal.InvalidClusterSetting,
			"cluster setting receipt-key must be 32 lower-case hexadecimal digits"},
		{"receipt key of 31", &SetClusterSetting{"receipt-key", strings.Repeat("0", 31)}, refusal.InvalidClusterSetting,
			"cluster setting receipt-key must be 32 lower-case hexadecimal digits"},
		{"minimum window 1", &SetClusterSetting{"minimum-window-seconds", "1"}, 0, ""},
		{"minimum window 20", &SetClusterSetting{"minimum-window-seconds", "20"}, 0, ""},
		{"minimum window 0", &SetClusterSetting{"minimum-window-seconds", "0"}, refusal.InvalidClusterSetting,
			"cluster setting minimum-window-seconds must be between 1 and 20"},
		{"minimum window 21", &SetClusterSetting{"minimum-window-seconds", "21"}, refusal.InvalidClusterSetting,
			"cluster setting minimum-window-seconds must be between 1 and 20"},
		{"cool-offs", &SetClusterSetting{"aws-cooldowns", "true"}, 0, ""},
		{"cool-offs in upper case", &SetClusterSetting{"aws-cooldowns", "True"}, refusal.InvalidClusterSetting,
			"cluster setting aws-cooldowns must be true or false"},
		{"unknown setting", &SetClusterSetting{"x", "1"}, refusal.InvalidClusterSetting, "there is no cluster setting x"},

		{"standard name", &CreateQueue{Queue: "aZ0-_"}, 0, ""},
		{"standard name of 80", &CreateQueue{Queue: strings.Repeat("n", 80)}, 0, ""},
		{"standard name of 81", &CreateQueue{Queue: strings.Repeat("n", 81)}, refusal.InvalidParameterValue, standardName},
		{"standard name empty", &CreateQueue{}, refusal.InvalidParameterValue, standardName},
		{"standard name with a full stop", &CreateQueue{Queue: "in.fo"}, refusal.InvalidParameterValue, standardName},
		{"standard name with a blank", &CreateQueue{Queue: "a b"}, refusal.InvalidParameterValue, standardName},
		{"fifo name without FifoQueue", &CreateQueue{Queue: "x.fifo"}, refusal.InvalidParameterValue, standardName},
		{"fifo name with FifoQueue=false", &CreateQueue{Queue: "x.fifo", Attributes: []Attribute{{Name: "FifoQueue", Value: "false"}}},
			refusal.InvalidParameterValue, standardName},
		{"fifo name", &CreateQueue{Queue: "x.fifo", Attributes: fifo}, 0, ""},
		{"fifo name of 800", &CreateQueue{Queue: strings.Repeat("n", 795) + ".fifo", Attributes: fifo}, 0, ""},
		{"fifo name of 801", &CreateQueue{Queue: strings.Repeat("n", 796) + ".fifo", Attributes: fifo}, refusal.InvalidParameterValue,
			fifoName},
		{"fifo name without suffix", &CreateQueue{Queue: "x", Attributes: fifo}, refusal.InvalidParameterValue, fifoName},
		{"fifo name with other suffix", &CreateQueue{Queue: "x.FIFO", Attributes: fifo}, refusal.InvalidParameterValue, fifoName},
		{"fifo name that is all suffix", &CreateQueue{Queue: ".fifo", Attributes: fifo}, refusal.InvalidParameterValue, fifoName},
		{"fifo name with a full stop", &CreateQueue{Queue: "a.b.fifo", Attributes: fifo}, refusal.InvalidParameterValue, fifoName},
		{"name before tags", &CreateQueue{Queue: "a b", Tags: []Tag{{Key: "", Value: ""}}}, refusal.InvalidParameterValue, standardName},
		{"created with tags", &CreateQueue{Queue: "q", Tags: []Tag{{Key: "k", Value: ""}}}, 0, ""},
		{"created with too many tags", &CreateQueue{Queue: "q", Tags: make([]Tag, 51)}, refusal.InvalidParameterValue,
			"Too many tags added for queue q."},

		{"delete queue", &DeleteQueue{Queue: "q"}, 0, ""},
		{"set attributes", &SetQueueAttributes{Queue: "q"}, 0, ""},
		{"set an unknown attribute", &SetQueueAttributes{Queue: "q", Attributes: []Attribute{{Name: "x", Value: "1"}}},
			refusal.InvalidAttributeName, "Unknown Attribute x."},
		{"set a window of this cluster",
			&SetQueueAttributes{Queue: "q.fifo", Attributes: []Attribute{{Name: "DeduplicationWindowSeconds", Value: "1"}}}, 0, ""},
		{"create with a policy of 5 MiB",
			&CreateQueue{Queue: "q", Attributes: []Attribute{{Name: "Policy", Value: strings.Repeat("x", 5<<20)}}},
			refusal.InvalidAttributeValue, "Invalid value for the parameter Policy."},
		{"purge", &PurgeQueue{Queue: "q"}, 0, ""},

		{"tags", &SetQueueTags{Queue: "q", Set: []Tag{{Key: strings.Repeat("é", 128), Value: strings.Repeat("é", 256)}}}, 0, ""},
		{"tags removed", &SetQueueTags{Queue: "q", Remove: []string{"k"}}, 0, ""},
		{"no tags", &SetQueueTags{Queue: "q"}, refusal.MissingRequiredParameter, "The request must contain the parameter Tags."},
		{"tag key empty", &SetQueueTags{Queue: "q", Set: []Tag{{Key: "", Value: "v"}}}, refusal.InvalidParameterValue, tagKey},
		{"tag key of 129", &SetQueueTags{Queue: "q", Set: []Tag{{Key: strings.Repeat("k", 129), Value: "v"}}},
			refusal.InvalidParameterValue, tagKey},
		{"tag value of 257", &SetQueueTags{Queue: "q", Set: []Tag{{Key: "k", Value: strings.Repeat("v", 257)}}},
			refusal.InvalidParameterValue, tagValue},
		{"tag value not UTF-8", &SetQueueTags{Queue: "q", Set: []Tag{{Key: "k", Value: "\xff"}}}, refusal.InvalidParameterValue, tagValue},
		{"removed tag key empty", &SetQueueTags{Queue: "q", Remove: []string{""}}, refusal.InvalidParameterValue, tagKey},
		{"too many tags", &SetQueueTags{Queue: "q", Set: make([]Tag, 51)}, refusal.InvalidParameterValue,
			"Too many tags added for queue q."},

		{"permission", grant("L-_1", []string{"111122223333"}, []string{"*", "sendmessage"}), 0, ""},
		{"permission removed", &SetQueuePolicy{Label: "L", Remove: true}, 0, ""},
		{"no label", &SetQueuePolicy{Remove: true}, refusal.MissingRequiredParameter, "The request must contain the parameter Label."},
		{"bad label", grant("a b", []string{"1"}, []string{"*"}), refusal.InvalidParameterValue, "Value a b" + labelRule},
		{"label of 81", grant(strings.Repeat("l", 81), []string{"1"}, []string{"*"}), refusal.InvalidParameterValue,
			"Value " + strings.Repeat("l", 81) + labelRule},
		{"no accounts", grant("L", nil, []string{"*"}), refusal.MissingRequiredParameter,
			"The request must contain the parameter AWSAccountIds."},
		{"no actions", grant("L", []string{"1"}, nil), refusal.MissingRequiredParameter, "The request must contain the parameter Actions."},
		{"bad account", grant("L", []string{`1"`}, []string{"*"}), refusal.InvalidParameterValue,
			`Value 1" for parameter PrincipalId is invalid. Reason: Unable to verify.`},
		{"too many accounts", grant("L", make([]string, 51), []string{"*"}), refusal.OverLimit,
			"51 principals were found, maximum allowed is 50."},
		{"too many actions", grant("L", []string{"1"}, make([]string, 8)), refusal.OverLimit,
			"8 Actions were found, maximum allowed is 7."},
		{"bad action", grant("L", []string{"1"}, []string{"SendMessage", "CreateQueue"}), refusal.InvalidParameterValue,
			"Value SQS:CreateQueue for parameter ActionName is invalid. Reason: Only the queue owner is allowed to invoke this action."},

		{"send", &SendMessages{Batch: true, Entries: append(make([]SendEntry, 9), SendEntry{Body: "x"})}, 0, ""},
		{"send of bad entries only", &SendMessages{Batch: true, Entries: make([]SendEntry, 10)}, refusal.MissingRequiredParameter,
			"The request must contain the parameter MessageBody."},
		{"send a character", &SendMessages{Entries: []SendEntry{{Body: "\x00"}}}, refusal.InvalidMessageContents,
			"Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to " +
				"#xFFFD | #x10000 to #x10FFFF"},
		{"send 5 MiB", &SendMessages{Entries: []SendEntry{{Body: strings.Repeat("x", 5<<20)}}}, refusal.InvalidParameterValue,
			"One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes."},
		{"send to a long name", &SendMessages{Queue: strings.Repeat("q", 81), Entries: []SendEntry{{Body: "x"}}}, refusal.QueueDoesNotExist,
			"The specified queue does not exist."},
		{"send nothing", &SendMessages{Batch: true}, refusal.EmptyBatchRequest,
			"There should be at least one SendMessageBatchRequestEntry in the request."},
		{"send 20", &SendMessages{Batch: true, Entries: make([]SendEntry, 20)}, refusal.TooManyEntriesInBatchRequest,
			"Maximum number of entries per request are 10. You have sent 20."},
		{"long sender", &SendMessages{Entries: make([]SendEntry, 1), SenderID: strings.Repeat("s", 257)}, refusal.InvalidParameterValue,
			"The sender id is longer than 256 bytes or has invalid characters."},

		{"receive", &ReceiveMessages{Queue: "q"}, 0, ""},
		{"receive 10 for 43200", &ReceiveMessages{MaxMessages: Some(10), VisibilityTimeout: Some(43200)}, 0, ""},
		{"receive 11", &ReceiveMessages{MaxMessages: Some(11)}, refusal.InvalidParameterValue, "Value 11" + maxMessages},
		{"receive 0", &ReceiveMessages{MaxMessages: Some(0)}, refusal.InvalidParameterValue, "Value 0" + maxMessages},
		{"receive for 43201", &ReceiveMessages{VisibilityTimeout: Some(43201)}, refusal.InvalidParameterValue, "Value 43201" + visibility},
		{"receive for -1", &ReceiveMessages{VisibilityTimeout: Some(-1)}, refusal.InvalidParameterValue, "Value -1" + visibility},
		{"attempt", &ReceiveMessages{Queue: "q.fifo", AttemptID: strings.Repeat("a", 128), AttemptIDGiven: true}, 0, ""},
		{"attempt of 129", &ReceiveMessages{Queue: "q.fifo", AttemptID: strings.Repeat("a", 129), AttemptIDGiven: true},
			refusal.InvalidParameterValue, "Value " + strings.Repeat("a", 129) + attemptRule},
		{"attempt with a blank", &ReceiveMessages{Queue: "q.fifo", AttemptID: "a b", AttemptIDGiven: true}, refusal.InvalidParameterValue,
			"Value a b" + attemptRule},
		{"attempt empty", &ReceiveMessages{Queue: "q.fifo", AttemptIDGiven: true}, refusal.InvalidParameterValue, "Value " + attemptRule},
		{"attempt on a standard queue is ignored", &ReceiveMessages{Queue: "q", AttemptID: "a b", AttemptIDGiven: true}, 0, ""},

		{"delete", &DeleteMessages{Batch: true, Handles: append(make([]string, 9), aHandle)}, 0, ""},
		{"delete malformed handles only", &DeleteMessages{Batch: true, Handles: make([]string, 9)}, refusal.ReceiptHandleIsInvalid,
			`The input receipt handle "" is not a valid receipt handle.`},
		{"delete nothing", &DeleteMessages{Batch: true}, refusal.EmptyBatchRequest,
			"There should be at least one DeleteMessageBatchRequestEntry in the request."},
		{"delete 11", &DeleteMessages{Batch: true, Handles: make([]string, 11)}, refusal.TooManyEntriesInBatchRequest,
			"Maximum number of entries per request are 10. You have sent 11."},

		{"visibility", &ChangeMessageVisibility{Entries: []VisibilityEntry{{aHandle, Some(43200)}}}, 0, ""},
		{"visibility 43201", &ChangeMessageVisibility{Entries: []VisibilityEntry{{"h", Some(43201)}}}, refusal.InvalidParameterValue,
			"Value 43201" + visibility},
		{"visibility missing", &ChangeMessageVisibility{Entries: []VisibilityEntry{{Handle: "h"}}}, refusal.MissingRequiredParameter,
			"The request must contain the parameter VisibilityTimeout."},
		{"visibility in a batch is for the entry",
			&ChangeMessageVisibility{Batch: true, Entries: []VisibilityEntry{{aHandle, Some(43201)}, {aHandle, Some(1)}}}, 0, ""},
		{"visibility of nothing", &ChangeMessageVisibility{Batch: true}, refusal.EmptyBatchRequest,
			"There should be at least one ChangeMessageVisibilityBatchRequestEntry in the request."},
		{"visibility of 11", &ChangeMessageVisibility{Batch: true, Entries: make([]VisibilityEntry, 11)},
			refusal.TooManyEntriesInBatchRequest, "Maximum number of entries per request are 10. You have sent 11."},

		{"move task", &StartMoveTask{Source: "q", MaxPerSecond: Some(500)}, 0, ""},
		{"move task without source", &StartMoveTask{}, refusal.MissingRequiredParameter,
			"The request must contain the parameter SourceArn."},
		{"move task at 0", &StartMoveTask{Source: "q", MaxPerSecond: Some(0)}, refusal.InvalidParameterValue, "Value 0" + rate},
		{"move task at 501", &StartMoveTask{Source: "q", MaxPerSecond: Some(501)}, refusal.InvalidParameterValue, "Value 501" + rate},
		{"cancel", &CancelMoveTask{TaskID: "t", Source: "q"}, 0, ""},
		{"cancel without task", &CancelMoveTask{Source: "q"}, refusal.InvalidParameterValue, "Value for parameter TaskHandle is invalid."},
		{"move step", &MoveMessages{TaskID: "t", Max: 100}, 0, ""},
		{"move step of 101", &MoveMessages{TaskID: "t", Max: 101}, refusal.InvalidParameterValue,
			"A step of a move task needs a task id and moves 1 to 100 messages."},
		{"move step of 0", &MoveMessages{TaskID: "t"}, refusal.InvalidParameterValue,
			"A step of a move task needs a task id and moves 1 to 100 messages."},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			refusaltest.Want(t, c.command.Validate(), c.code, c.text)
		})
	}
}

func TestCheckVisibility(t *testing.T) {
	refusaltest.Want(t, checkVisibility(Some(0)), 0, "")
	refusaltest.Want(t, checkVisibility(Some(-1)), refusal.InvalidParameterValue,
		"Value -1 for parameter VisibilityTimeout is invalid. Reason: Must be >= 0 and <= 43200, if provided.")
	refusaltest.Want(t, checkVisibility(Int{}), refusal.MissingRequiredParameter,
		"The request must contain the parameter VisibilityTimeout.")
}

// TestSQSName checks that SQS does not allow all names of FIFO queues.
func TestSQSName(t *testing.T) {
	for length, want := range map[int]bool{80: true, 81: false, 800: false} {
		c := CreateQueue{Queue: strings.Repeat("n", length-5) + ".fifo", Attributes: []Attribute{{Name: "FifoQueue", Value: "true"}}}
		if err := c.CheckSQSName(); (err == nil) != want {
			t.Errorf("a name of %d characters: %v", length, err)
		}
	}
}
