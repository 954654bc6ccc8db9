package conformance

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A coverage entry is the name of a test in this package, perhaps with a slash and the name of a
// case; or a key of elsewhere, a colon and the name of a test in that folder; or "open: " and the
// reason why there is no test yet.

// sqsStatements covers section 8 of the SQS specification.
var sqsStatements = map[int]string{
	1: "TestWireJSONAtRoot", 2: "TestWireRequestID", 3: "TestWireUnknownQueue", 4: "TestWireUnknownQueue", 5: "TestWireUnknownQueue",
	6: "TestWireErrorTypeAndCodeDiffer/invalid value", 7: "TestWireErrorTypeAndCodeDiffer/missing parameter",
	8: "TestWireEmptyReceive", 9: "TestWireEmptyReceive", 10: "TestWireBatchWithoutFailures", 11: "TestListQueuesNoMatch",
	12: "TestListQueueTagsOfNone", 13: "TestWireGet/no parameters", 14: "TestWireGet/unknown action",
	15: "TestWireGet/action of no queue", 16: "TestWireGet/missing body", 17: "TestWireGet/all attributes",
	18: "TestWireGet/one attribute", 19: "TestWireGet/delete", 20: "TestWireQueryWithoutVersion", 21: "TestWireContentNegotiation",
	22: "TestWireLineEndsAndEntities", 23: "TestWireLineEndsAndEntities", 24: "TestWireQueueURLForms",
	25: "TestWireUnknownAndNullMembers", 26: "TestWireUnknownAndNullMembers", 27: "TestSendMessageDigests/no attributes",
	28: "TestSendMessageDigests/string", 29: "TestSendMessageDigests/number", 30: "TestSendMessageDigests/trace header and string",
	31: "TestSendMessageDigests/no attributes", 32: "TestSendMessageDigests/binary",
	33: "open: signatures are not verified yet, so there is no authentication to switch on",
	34: "TestWirePresigned",

	35: "TestCreateQueueStandardDefaults", 36: "TestCreateQueueFIFODefaults", 37: "TestCreateQueueBooleanLetterCase",
	38: "TestCreateQueueRefusals/fifo name without FifoQueue", 39: "TestCreateQueueRefusals/FifoQueue without fifo name",
	40: "TestCreateQueueRefusals/FifoQueue false", 41: "TestCreateQueueRefusals/content deduplication on standard",
	42: "TestCreateQueueRefusals/scope on standard", 43: "TestCreateQueueRefusals/throughput limit on standard",
	44: "TestCreateQueueRefusals/81 characters", 45: "TestCreateQueueThatExists/without attributes",
	46: "TestCreateQueueThatExists/equal attributes", 47: "TestCreateQueueThatExists/another value",
	48: "TestCreateQueueThatExists/after a change", 49: "TestCreateQueueThatExists/content deduplication differs",
	50: "TestAWSCooldowns/ create after delete", 51: "TestCreateQueueIntegerAttributes/VisibilityTimeout",
	52: "TestCreateQueueIntegerAttributes/MaximumMessageSize", 53: "TestCreateQueueIntegerAttributes/MessageRetentionPeriod",
	54: "TestGetQueueAttributesWithoutNames", 55: "TestGetQueueAttributesUnknownName", 56: "TestGetQueueAttributesKnownButUnset",
	57: "TestSetQueueAttributesReadOnly", 58: "TestSetQueueAttributesAllOrNothing", 59: "TestSetQueueAttributesEmptyPolicyRemoves",
	60: "TestSetQueueAttributesEmptyRedrivePolicyRemoves", 61: "TestSetQueueAttributesEncryption", 62: "TestSetQueueAttributesEncryption",
	63: "TestListQueuesByPrefix", 64: "TestListQueuesPages", 65: "TestListQueuesByPrefix", 66: "TestTagQueueOverwritesAndKeepsLetterCase",
	67: "TestUntagQueueUnknownKey", 68: "TestAddPermissionBuildsPolicy", 69: "TestAddPermissionRefusals",
	70: "TestRemovePermissionLastStatement", 71: "TestDeleteQueueUnknown", 72: "TestAWSCooldowns/ purge twice",
	73: "TestPurgeQueueInFlight", 74: "TestPurgeQueueDelayed", 75: "TestPurgeQueueKeepsLaterMessages",

	76: "TestSendMessageSize", 77: "TestSendMessageSize", 78: "TestSendMessageCharacters", 79: "TestSendMessageCharacters",
	80: "TestSendMessageBadAttributes/empty value", 81: "TestSendMessageBadAttributes/name of 257",
	82: "TestSendMessageBadAttributes/type too long", 83: "TestSendMessageElevenAttributes", 84: "TestSendMessageGoodAttributes",
	85: "TestSendMessageDelay", 86: "TestSendMessageDeduplicationIDOnStandard", 87: "TestSendMessageGroupOnStandard",
	88: "TestSendMessageBadGroupID", 89: "TestSendMessageDeduplicationIDForm", 90: "TestSendMessageFIFOWithoutGroup",
	91: "TestSendMessageFIFOWithoutDeduplicationID", 92: "TestSendMessageFIFODelay", 93: "TestSendMessageFIFODelay",
	94: "TestSendMessageFIFOQueueDelay", 95: "TestSendMessageBatchRefusals/no entries", 96: "TestSendMessageBatchRefusals/20 entries",
	97: "TestSendMessageBatchRefusals/id with signs", 98: "TestSendMessageBatchRefusals/repeated ids",
	99: "TestSendMessageBatchRefusals/too long together", 100: "TestSendMessageBatchRefusals/one too long",
	101: "TestSendMessageBatchMaximumMessageSize", 102: "TestSendMessageBatchPartlyBad",
	103: "TestSendMessageBatchFIFOWholeRequest/without deduplication id", 104: "TestSendMessageBatchFIFOOrder",
	105: "TestSendMessageSequenceNumbers", 106: "TestSendMessageSequenceNumbers", 107: "TestSendMessageSequenceNumbers",

	108: "TestReceiveMessageRefusals", 109: "TestReceiveMessageRefusals", 110: "TestReceiveMessageLongPollDoesNotFill",
	111: "TestReceiveMessageLongPollWakes/by request", 112: "TestReceiveMessageLongPollWakes/by queue",
	113: "TestReceiveMessageZeroWaitOverridesQueue", 114: "TestReceiveMessageWithoutNames",
	115: "TestReceiveMessageSystemAttributes/standard", 116: "TestReceiveMessageSystemAttributes/fifo",
	117: "TestReceiveMessageCountsDeliveries", 118: "TestReceiveMessageSystemAttributes/only SenderId",
	119: "TestReceiveMessageAttributeFilter/dot star", 120: "TestReceiveMessageAttributeFilter/exact",
	121: "TestReceiveMessageAttributeFilter/no match", 122: "TestReceiveMessageVisibilityTimeout",
	123: "TestChangeMessageVisibilityToZero", 124: "TestDeleteMessageStandardExpiredHandle", 125: "TestDeleteMessageThreeTimes",
	126: "TestDeleteMessageMalformedHandle", 127: "TestChangeMessageVisibilityMalformedHandle",
	128: "TestChangeMessageVisibilityBeyondTwelveHours", 129: "TestChangeMessageVisibilityRepeated",
	130: "TestDeleteMessageBatchPartlyBad", 131: "TestReceiveMessageRetention",

	132: "TestFIFORedeliveryKeepsOrder", 133: "TestFIFOOneAtATime", 134: "TestFIFOFillsByGroup", 135: "TestFIFOOtherGroupsContinue",
	136: "TestFIFOBlockedGroup", 137: "TestFIFOEmptiedGroup", 138: "TestFIFOCounters", 139: "TestFIFOCounterAfterDeletes",
	140: "TestDeduplicationByID", 141: "TestDeduplicationByContent", 142: "TestDeduplicationByContent",
	143: "TestDeduplicationByContent", 144: "TestDeduplicationByContent", 145: "TestDeduplicationOutlivesTheMessage",
	146: "TestDeduplicationScope/queue", 147: "TestDeduplicationScope/message group ", 148: "TestDeduplicationByID",
	149: "TestDeduplicationByID", 150: "TestDeduplicationByID", 151: "TestDeduplicationWindowEnds",
	152: "TestDeduplicationInOneBatch", 153: "TestDeduplicationNotByRefusedSends", 154: "TestDeleteMessageFIFOWithinTimeout",
	155: "TestDeleteMessageFIFOExpiredHandle", 156: "TestDeleteMessageFIFOSupersededHandle", 157: "TestReceiveAttemptOtherID",
	158: "TestReceiveAttemptWindowEnds", 159: "TestReceiveAttemptBadID", 160: "TestReceiveAttemptReplay",
	161: "TestReceiveMessageOneMessageForTwoPolls",

	162: "TestDeadLetterStandard", 163: "TestDeadLetterFIFO", 164: "TestDeadLetterPolicyRefusals/missing target",
	165: "TestDeadLetterPolicyRefusals/fifo with standard target", 166: "TestDeadLetterPolicyRefusals/count 1001",
	167: "TestListDeadLetterSourceQueues", 168: "TestStartMessageMoveTaskRefusals/source is nobody's dead-letter queue",
	169: "TestStartMessageMoveTaskRefusals/unknown destination", 170: "TestStartMessageMoveTaskToDestination",
	171: "TestStartMessageMoveTaskBackToSources", 172: "TestStartMessageMoveTaskTwice", 173: "TestListMessageMoveTasksRunning",
	174: "TestCancelMessageMoveTaskRefusals", 175: "TestCancelMessageMoveTaskRefusals",
}

// ymqStatements covers section 9 of the Yandex Message Queue specification.
var ymqStatements = map[int]string{
	1: "TestYMQDeduplication/no id", 2: "TestYMQDeduplication/same id", 3: "TestYMQDeduplication/first answer",
	4: "TestYMQDeduplication/another body", 5: "TestYMQDeduplication/another group", 6: "TestYMQDeduplication/received and deleted",
	7: "TestYMQDeduplication/after the window", 8: "TestYMQDeduplication/a duplicate does not extend the window",
	9: "TestYMQContentBasedDeduplication/same body", 10: "TestYMQContentBasedDeduplication/other body",
	11: "TestYMQContentBasedDeduplication/explicit id", 12: "TestYMQContentBasedDeduplication/generated id",
	13: "TestYMQContentBasedDeduplication/other attributes", 14: "TestYMQSendRefusals/no group",
	15: "TestYMQSendRefusals/id not ASCII", 16: "TestYMQSendRefusals/id of 129 characters", 17: "TestYMQAttempts/id not ASCII",
	18: "TestYMQOneMessagePerGroup/one group", 19: "TestYMQOneMessagePerGroup/ten groups",
	20: "TestYMQOneMessagePerGroup/locked group", 21: "TestYMQOneMessagePerGroup/head deleted", 22: "TestYMQAttempts/same set",
	23: "TestYMQAttempts/another attempt", 24: "TestYMQAttempts/same handles", 25: "TestYMQAttempts/visibility changed",
	26: "TestYMQAttempts/renews visibility", 27: "TestYMQOneMessagePerGroup/no attempt id", 28: "grpc: TestYMQGeneratedAttemptID",
	29: "TestYMQStaleHandles/expired", 30: "TestYMQStaleHandles/superseded", 31: "TestYMQDeadLetter/fourth attempt",
	32: "TestYMQDeadLetter/standard target", 33: "TestYMQDeadLetter/count 1001", 34: "TestYMQAttributeRefusals/FifoQueue",
	35: "TestYMQAttributeRefusals/unknown name", 36: "TestYMQBatches/same id", 37: "TestYMQBatches/one entry without id",
	38: "TestYMQBatches/eleven entries", 39: "TestYMQSequenceNumbersRise/in one group", 40: "TestYMQDeduplication/not counted",
	41: "failover: TestYMQReceiveAttemptSurvivesTheLeader", 42: "TestYMQDuplicatesAreCounted",
}

// serviceBusStatements covers section 8 of the Service Bus specification.
var serviceBusStatements = map[int]string{
	1: "TestDeduplicationWindowAttribute/within and after", 2: "TestDeduplicationWindowAttribute/within and after",
	3: "TestDeduplicationWindowAttribute/bad values", 4: "TestDeduplicationWindowAttribute/not listed unless set",
	5: "TestDeduplicationWindowAttribute/profile default", 6: "TestDeduplicationWindowAttribute/profile default",
	7: "TestServiceBusDuplicateAfterSettlement/completed", 8: "TestServiceBusDuplicateAfterSettlement/dead-lettered",
	9: "TestDeduplicationSwitchedOff", 10: "TestDeduplicationSwitchedOff", 11: "TestDeduplicationWindowAttribute/live change",
	12: "TestPublishDeduplication/within the window", 13: "TestDeduplicationScope/queue", 14: "TestDeduplicationScope/message group ",
	15: "TestDeduplicationIDLetterCase", 16: "TestDeduplicationIDLetterCase", 17: "TestNativeDuplicate",
	18: "TestScheduledMessages/due later",
	19: "TestNativeScheduled/cancelled", 20: "TestNativeScheduled/active", 21: "TestNativeScheduled/unknown number",
	22: "TestScheduledMessages/in the past", 23: "TestScheduledMessages/due later",
	24: "TestScheduledMessages/same instant", 25: "TestMessageGroupIDMode/required", 26: "TestMessageGroupIDMode/optional",
	27: "TestNativeSession/held by another", 28: "TestNativeSession/next, all held", 29: "TestNativeSession/next, two free",
	30: "TestNativeSession/new messages", 31: "TestNativeSessionLock", 32: "TestNativeSessionLockEnds", 33: "TestNativeSessionState",
	34: "TestNativeSessionState", 35: "TestNativeSession/abandoned", 36: "TestNativeDeadLetter",
	37: "TestYMQDeadLetter/fourth attempt", 38: "TestNativeDeferred", 39: "TestNativeDeferred", 40: "TestNativePeek",
	41: "TestMaxDeduplicationEntries",
	42: "failover: TestDeduplicationSurvives/leader killed", 43: "failover: TestDeduplicationSurvives/restored from a snapshot",
	44: "cluster: TestIDsOutliveALeaderAhead",
}

// errorRows covers the rows of the error table, by action and trigger.
var errorRows = map[string]string{
	"*: queue unknown (JSON)":                     "TestWireUnknownQueue",
	"*: queue unknown (Query)":                    "TestWireUnknownQueue",
	"*: required parameter missing":               "TestErrorMissingParameters",
	"*: unknown or not allowed Action (Query)":    "TestWireGet/unknown action",
	"*: no Action at all (GET)":                   "TestWireGet/no parameters",
	"*: string where integer expected (JSON)":     "TestMalformedJSON/string for integer text",
	"CreateQueue: bad queue name":                 "TestCreateQueueRefusals/dot in name",
	"CreateQueue: FifoQueue=true without .fifo":   "TestCreateQueueRefusals/FifoQueue without fifo name",
	"CreateQueue: exists with another value":      "TestCreateQueueThatExists/another value",
	"CreateQueue: deleted within 60 s":            "TestAWSCooldowns/ create after delete",
	"CreateQueue: unknown attribute name":         "TestCreateQueueRefusals/unknown attribute",
	"SetQueueAttributes: unknown attribute name":  "TestSetQueueAttributesUnknownName",
	"GetQueueAttributes: unknown attribute name":  "TestGetQueueAttributesUnknownName",
	"CreateQueue: FifoQueue on standard":          "TestCreateQueueRefusals/FifoQueue false",
	"SetQueueAttributes: FifoQueue on standard":   "TestSetQueueAttributesFifoQueue",
	"CreateQueue: DeduplicationScope on standard": "TestCreateQueueRefusals/scope on standard",
	"CreateQueue: attribute value out of range":   "TestCreateQueueIntegerAttributes",
	"SetQueueAttributes: value out of range":      "TestSetQueueAttributesAllOrNothing",
	"SetQueueAttributes: FifoQueue=false":         "TestSetQueueAttributesFifoQueue",
	"SetQueueAttributes: two encryptions":         "TestSetQueueAttributesEncryption",
	"*: RedrivePolicy target unknown":             "TestDeadLetterPolicyRefusals/missing target",
	"*: RedrivePolicy target of the other type":   "TestDeadLetterPolicyRefusals/standard with fifo target",
	"*: maxReceiveCount outside 1..1000":          "TestDeadLetterPolicyRefusals/count 0",
	"SendMessage: body missing or empty":          "TestSendMessageEmptyBody",
	"SendMessage: over MaximumMessageSize":        "TestSendMessageSize",
	"SendMessage: character not allowed":          "TestSendMessageCharacters",
	"SendMessage: deduplication id malformed":     "TestSendMessageDeduplicationIDForm",
	"SendMessage: group id malformed":             "TestSendMessageBadGroupID",
	"SendMessage: FIFO without group":             "TestSendMessageFIFOWithoutGroup",
	"SendMessageBatch: FIFO without group":        "TestSendMessageBatchFIFOWholeRequest/without group",
	"SendMessage: FIFO without deduplication id":  "TestSendMessageFIFOWithoutDeduplicationID",
	"SendMessageBatch: without deduplication id":  "TestSendMessageBatchFIFOWholeRequest/without deduplication id",
	"SendMessage: deduplication id on standard":   "TestSendMessageDeduplicationIDOnStandard",
	"SendMessage: DelaySeconds > 0 on FIFO":       "TestSendMessageFIFODelay",
	"SendMessage: DelaySeconds outside 0..900":    "TestSendMessageDelay",
	"SendMessage: more than 10 attributes":        "TestSendMessageElevenAttributes",
	"SendMessage: empty String value":             "TestSendMessageBadAttributes/empty value",
	"SendMessageBatch: no entries":                "TestSendMessageBatchRefusals/no entries",
	"DeleteMessageBatch: no entries":              "TestDeleteMessageBatchRefusals/no entries",
	"ChangeMessageVisibilityBatch: no entries":    "TestChangeMessageVisibilityBatchRefusals/no entries",
	"SendMessageBatch: more than 10":              "TestSendMessageBatchRefusals/20 entries",
	"DeleteMessageBatch: more than 10":            "TestDeleteMessageBatchRefusals/11 entries",
	"ChangeMessageVisibilityBatch: more than 10":  "TestChangeMessageVisibilityBatchRefusals/11 entries",
	"SendMessageBatch: Id malformed":              "TestSendMessageBatchRefusals/id of 81",
	"DeleteMessageBatch: Id malformed":            "TestDeleteMessageBatchRefusals/bad id",
	"ChangeMessageVisibilityBatch: Id malformed":  "TestChangeMessageVisibilityBatchRefusals/bad id",
	"SendMessageBatch: Id repeated":               "TestSendMessageBatchRefusals/repeated ids",
	"DeleteMessageBatch: Id repeated":             "TestDeleteMessageBatchRefusals/repeated id",
	"ChangeMessageVisibilityBatch: Id repeated":   "TestChangeMessageVisibilityBatchRefusals/repeated id",
	"SendMessageBatch: sum of sizes":              "TestSendMessageBatchRefusals/too long together",
	"SendMessageBatch: entry too long":            "TestSendMessageBatchMaximumMessageSize",
	"SendMessageBatch: entry with bad character":  "TestSendMessageBatchPartlyBad",
	"ReceiveMessage: MaxNumberOfMessages":         "TestReceiveMessageRefusals",
	"ReceiveMessage: WaitTimeSeconds":             "TestReceiveMessageRefusals",
	"ReceiveMessage: VisibilityTimeout":           "TestReceiveMessageRefusals",
	"ReceiveMessage: attempt id malformed":        "TestReceiveAttemptBadID",
	"ReceiveMessage: attempt not retryable":       "TestReceiveAttemptNotRetryable/message deleted",
	"DeleteMessage: malformed handle":             "TestDeleteMessageMalformedHandle",
	"ChangeMessageVisibility: malformed handle":   "TestChangeMessageVisibilityMalformedHandle",
	"DeleteMessage: expired handle on FIFO":       "TestDeleteMessageFIFOExpiredHandle",
	"DeleteMessageBatch: expired handle on FIFO":  "TestDeleteMessageBatchFIFOExpired",
	"ChangeMessageVisibility: message deleted":    "TestChangeMessageVisibilityOfADeletedMessage",
	"ChangeMessageVisibility: total over 12 h":    "TestChangeMessageVisibilityBeyondTwelveHours",
	"PurgeQueue: second call within 60 s":         "TestAWSCooldowns/ purge twice",
	"AddPermission: label exists":                 "TestAddPermissionRefusals",
	"AddPermission: more than 7 actions":          "TestAddPermissionRefusals",
	"RemovePermission: label unknown":             "TestRemovePermissionLastStatement",
	"StartMessageMoveTask: source is no DLQ":      "TestStartMessageMoveTaskRefusals/source is nobody's dead-letter queue",
	"StartMessageMoveTask: source unknown":        "TestStartMessageMoveTaskRefusals/unknown source",
	"ListMessageMoveTasks: source unknown":        "TestListMessageMoveTasksUnknownSource",
	"CancelMessageMoveTask: source unknown":       "TestCancelMessageMoveTaskRefusals",
	"StartMessageMoveTask: destination unknown":   "TestStartMessageMoveTaskRefusals/unknown destination",
	"StartMessageMoveTask: a task is active":      "TestStartMessageMoveTaskTwice",
	"CancelMessageMoveTask: handle malformed":     "TestCancelMessageMoveTaskRefusals",
	"CancelMessageMoveTask: task unknown":         "TestCancelMessageMoveTaskRefusals",
	"TagQueue: no tags":                           "TestTagQueueWithoutTags",
	"UntagQueue: no keys":                         "TestUntagQueueWithoutKeys",
	"ReceiveMessage: in-flight limit":             "open: 120,000 messages in flight are a matter of the unit tests of the domain",
	"ChangeMessageVisibility: not in flight":      "open: no state of a message leads to MessageNotInflight",
}

// testsOf returns the names of the tests in a folder.
func testsOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range tree.Decls {
			if function, ok := decl.(*ast.FuncDecl); ok && function.Recv == nil {
				names[function.Name.Name] = true
			}
		}
	}
	return names
}

// called contains the names of the tests and subtests that called the server.
var called sync.Map

func noteCall(t *testing.T) { called.Store(t.Name(), true) }

// wasCalled reports whether a test, or the named case of it, called the server. It ignores levels
// between the two, such as the protocol.
func wasCalled(test, subtest string) bool {
	subtest = strings.ReplaceAll(subtest, " ", "_")
	found := false
	called.Range(func(key, _ any) bool {
		name, subtests, _ := strings.Cut(key.(string), "/")
		found = name == test && strings.Contains(subtests, subtest)
		return !found
	})
	return found
}

// statementLists contains the specifications with the numbers of their statements.
var statementLists = []struct {
	name    string
	count   int
	entries map[int]string
}{
	{"SQS", 175, sqsStatements}, {"SNS", 64, snsStatements}, {"Yandex Message Queue", 42, ymqStatements},
	{"Service Bus", 44, serviceBusStatements},
}

// visitEntries calls visit for every entry and the test that it names. dir is empty for a test of
// this package.
func visitEntries(visit func(what, dir, test, subtest string)) {
	each := func(what, entry string) {
		if strings.HasPrefix(entry, "open: ") {
			return
		}
		dir := ""
		if word, rest, found := strings.Cut(entry, ": "); found {
			dir, entry = elsewhere[word], rest
		}
		test, subtest, _ := strings.Cut(entry, "/")
		visit(what, dir, test, subtest)
	}
	for _, list := range statementLists {
		for number, entry := range list.entries {
			each(list.name+" statement "+strconv.Itoa(number), entry)
		}
	}
	for row, entry := range errorRows {
		each("error row "+row, entry)
	}
	for row, entry := range snsErrorRows {
		each("error row of SNS "+row, entry)
	}
}

// checkStatements reports an error for an entry whose test or case has not called the server in
// this run. It is skipped if only some tests run.
func checkStatements() error {
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return nil
		}
	}
	var missing []string
	visitEntries(func(what, dir, test, subtest string) {
		if dir == "" && !wasCalled(test, subtest) {
			missing = append(missing, what+": "+test+"/"+subtest)
		}
	})
	slices.Sort(missing)
	if len(missing) > 0 {
		return fmt.Errorf("these tests are named for a statement and did not call the server:\n%s", strings.Join(missing, "\n"))
	}
	return nil
}

// elsewhere contains the folders of tests outside this package.
var elsewhere = map[string]string{"cluster": "../../../cluster", "failover": "../../cluster/failover", "grpc": "../../../transport/grpc"}

// TestStatementsAreCovered fails if a number has no entry, an entry has no reason, or a test of
// another package does not exist. checkStatements checks the tests of this package after they ran.
func TestStatementsAreCovered(t *testing.T) {
	t.Parallel()
	for _, list := range statementLists {
		if len(list.entries) != list.count {
			t.Errorf("%s: %d entries, want %d", list.name, len(list.entries), list.count)
		}
		for number := 1; number <= list.count; number++ {
			entry, found := list.entries[number]
			if reason, isOpen := strings.CutPrefix(entry, "open: "); !found || isOpen && len(reason) < 10 {
				t.Errorf("%s statement %d is not covered, or open without a reason", list.name, number)
			}
		}
	}
	tests := map[string]map[string]bool{}
	for _, dir := range elsewhere {
		tests[dir] = testsOf(t, dir)
	}
	visitEntries(func(what, dir, test, _ string) {
		if dir != "" && !tests[dir][test] {
			t.Errorf("%s: there is no test %s in %s", what, test, dir)
		}
	})
}

// TestEveryActionHasAFile checks that each action has a test file.
func TestEveryActionHasAFile(t *testing.T) {
	t.Parallel()
	for _, action := range []string{
		"add_permission", "cancel_message_move_task", "change_message_visibility", "change_message_visibility_batch", "create_queue",
		"delete_message", "delete_message_batch", "delete_queue", "get_queue_attributes", "get_queue_url",
		"list_dead_letter_source_queues", "list_message_move_tasks", "list_queues", "list_queue_tags", "purge_queue",
		"receive_message", "remove_permission", "send_message", "send_message_batch", "set_queue_attributes",
		"start_message_move_task", "tag_queue", "untag_queue",

		"confirm_subscription", "create_topic", "delete_topic", "get_data_protection_policy", "get_subscription_attributes",
		"get_topic_attributes", "list_subscriptions", "list_subscriptions_by_topic", "list_tags_for_resource", "list_topics", "publish",
		"publish_batch", "put_data_protection_policy", "set_subscription_attributes", "set_topic_attributes", "subscribe", "tag_resource",
		"topic_add_permission", "topic_remove_permission", "unsubscribe", "untag_resource",
	} {
		if found, err := filepath.Glob(action + "_test.go"); err != nil || len(found) != 1 {
			t.Errorf("%s_test.go is missing", action)
		}
	}
}
