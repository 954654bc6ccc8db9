package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// result holds the output and the error of one run of the tool.
type result struct {
	out, words string
	err        error
}

// runTool runs the tool against endpoint, which also stands for the admin port.
func runTool(t *testing.T, endpoint, stdin string, args ...string) result {
	t.Helper()
	return runToolIn(t.Context(), endpoint, stdin, args...)
}

func runToolIn(ctx context.Context, endpoint, stdin string, args ...string) result {
	root := &cobra.Command{Use: "seriatim", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(Commands()...)
	root.SetArgs(append(args, "--endpoint", endpoint, "--admin", endpoint))
	var out, words bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&words)
	root.SetIn(strings.NewReader(stdin))
	err := root.ExecuteContext(ctx)
	return result{out.String(), words.String(), err}
}

// call is one request that the fake server saw.
type call struct {
	Action string
	Input  map[string]any
}

// fakeServer answers each action with a fixed document and records the calls.
func fakeServer(t *testing.T, answers map[string]string) (endpoint string, calls func() []call) {
	t.Helper()
	var mu sync.Mutex
	var seen []call
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		action := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "AmazonSQS.")
		if action == "" {
			action = r.Method + " " + r.URL.RequestURI()
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		c := call{Action: action}
		if len(body) > 0 {
			if err := json.Unmarshal(body, &c.Input); err != nil {
				t.Errorf("%s: %v", action, err)
			}
		}
		mu.Lock()
		seen = append(seen, c)
		mu.Unlock()
		answer, ok := answers[action]
		if !ok && action == "GetQueueUrl" {
			answer, ok = `{"QueueUrl":"http://h/000000000000/q.fifo"}`, true
		}
		if !ok {
			t.Errorf("unexpected call %s %s", action, body)
		}
		if _, err := io.WriteString(w, answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []call {
		mu.Lock()
		defer mu.Unlock()
		return seen
	}
}

func TestRequests(t *testing.T) {
	const q = "http://h/000000000000/q.fifo"
	counts := `{"Attributes":{"ApproximateNumberOfMessages":"2","ApproximateNumberOfMessagesNotVisible":"1","ApproximateNumberOfMessagesDelayed":"0"}}`
	tests := []struct {
		name    string
		args    []string
		stdin   string
		answers map[string]string
		want    call // the last one
	}{
		{
			"create adds FifoQueue",
			[]string{"queue", "create", "q.fifo", "-a", "VisibilityTimeout=60", "-t", "team=a=b"},
			"",
			map[string]string{"CreateQueue": `{"QueueUrl":"` + q + `"}`},
			call{"CreateQueue", map[string]any{
				"QueueName": "q.fifo", "Attributes": map[string]any{"FifoQueue": "true", "VisibilityTimeout": "60"},
				"tags": map[string]any{"team": "a=b"},
			}},
		},
		{
			"send all members",
			[]string{
				"msg", "send", "q.fifo", "body", "-g", "g1", "-d", "d1", "--delay", "3", "-a", "k=v", "-a", "n:Number=5", "-a",
				"b:Binary=\x00\x01",
				"--trace-header", "Root=1",
			},
			"",
			map[string]string{"SendMessage": `{"MessageId":"m","SequenceNumber":"1"}`},
			call{"SendMessage", map[string]any{
				"QueueUrl": q, "MessageBody": "body", "MessageGroupId": "g1", "MessageDeduplicationId": "d1", "DelaySeconds": 3.0,
				"MessageAttributes": map[string]any{
					"k": map[string]any{"DataType": "String", "StringValue": "v"},
					"n": map[string]any{"DataType": "Number", "StringValue": "5"},
					"b": map[string]any{"DataType": "Binary", "BinaryValue": "AAE="},
				},
				"MessageSystemAttributes": map[string]any{"AWSTraceHeader": map[string]any{"DataType": "String", "StringValue": "Root=1"}},
			}},
		},
		{
			"send from standard input, empty group given",
			[]string{"msg", "send", q, "--group", ""},
			"from\nstdin",
			map[string]string{"SendMessage": `{"MessageId":"m"}`},
			call{"SendMessage", map[string]any{"QueueUrl": q, "MessageBody": "from\nstdin", "MessageGroupId": ""}},
		},
		{
			"receive leaves out what was not given",
			[]string{"msg", "receive", "q.fifo"},
			"",
			map[string]string{"ReceiveMessage": `{}`},
			call{"ReceiveMessage", map[string]any{
				"QueueUrl": q, "MaxNumberOfMessages": 1.0, "MessageSystemAttributeNames": []any{"All"},
				"MessageAttributeNames": []any{"All"},
			}},
		},
		{
			"receive with zeros",
			[]string{"msg", "receive", "q.fifo", "-w", "0", "--visibility-timeout", "0", "--attempt-id", "a"},
			"",
			map[string]string{"ReceiveMessage": `{}`},
			call{"ReceiveMessage", map[string]any{
				"QueueUrl": q, "MaxNumberOfMessages": 1.0, "MessageSystemAttributeNames": []any{"All"},
				"MessageAttributeNames": []any{"All"},
				"WaitTimeSeconds":       0.0, "VisibilityTimeout": 0.0, "ReceiveRequestAttemptId": "a",
			}},
		},
		{
			"delete after eleven handles sends a second batch",
			append([]string{"msg", "delete", q}, strings.Split("a b c d e f g h i j k", " ")...), "",
			map[string]string{"DeleteMessageBatch": `{}`},
			call{"DeleteMessageBatch", map[string]any{"QueueUrl": q, "Entries": []any{map[string]any{"Id": "0", "ReceiptHandle": "k"}}}},
		},
		{
			"update",
			[]string{"queue", "update", q, "-a", "DelaySeconds=3", "-a", "Policy="},
			"",
			map[string]string{"SetQueueAttributes": ""},
			call{"SetQueueAttributes", map[string]any{"QueueUrl": q, "Attributes": map[string]any{"DelaySeconds": "3", "Policy": ""}}},
		},
		{
			"tag",
			[]string{"queue", "tag", q, "a=b=c", "d="},
			"",
			map[string]string{"TagQueue": ""},
			call{"TagQueue", map[string]any{"QueueUrl": q, "Tags": map[string]any{"a": "b=c", "d": ""}}},
		},
		{
			"untag",
			[]string{"queue", "untag", q, "a", "b"},
			"",
			map[string]string{"UntagQueue": ""},
			call{"UntagQueue", map[string]any{"QueueUrl": q, "TagKeys": []any{"a", "b"}}},
		},
		{
			"extend to zero",
			[]string{"msg", "extend", q, "h", "--visibility-timeout", "0"},
			"",
			map[string]string{"ChangeMessageVisibilityBatch": `{}`},
			call{"ChangeMessageVisibilityBatch",
				map[string]any{"QueueUrl": q, "Entries": []any{map[string]any{"Id": "0", "ReceiptHandle": "h", "VisibilityTimeout": 0.0}}}},
		},
		{
			"release",
			[]string{"msg", "release", q, "h"},
			"",
			map[string]string{"ChangeMessageVisibilityBatch": `{}`},
			call{"ChangeMessageVisibilityBatch",
				map[string]any{"QueueUrl": q, "Entries": []any{map[string]any{"Id": "0", "ReceiptHandle": "h", "VisibilityTimeout": 0.0}}}},
		},
		{
			"redrive with all flags",
			[]string{"dlq", "redrive", q, "--to", q, "--rate", "5", "--detach", "--yes"},
			"",
			map[string]string{"GetQueueAttributes": `{"Attributes":{"QueueArn":"arn:q"}}`, "StartMessageMoveTask": `{"TaskHandle":"h"}`},
			call{"StartMessageMoveTask",
				map[string]any{"SourceArn": "arn:q", "DestinationArn": "arn:q", "MaxNumberOfMessagesPerSecond": 5.0}},
		},
		{
			"cancel",
			[]string{"dlq", "cancel", q},
			"",
			map[string]string{
				"GetQueueAttributes":    `{"Attributes":{"QueueArn":"arn:q"}}`,
				"ListMessageMoveTasks":  `{"Results":[{"Status":"RUNNING","TaskHandle":"h"},{"Status":"COMPLETED"}]}`,
				"CancelMessageMoveTask": `{"ApproximateNumberOfMessagesMoved":4}`,
			},
			call{"CancelMessageMoveTask", map[string]any{"TaskHandle": "h"}},
		},
		{
			"purge after the name was typed",
			[]string{"queue", "purge", "q.fifo"},
			"q.fifo\n",
			map[string]string{"GetQueueAttributes": counts, "PurgeQueue": ""},
			call{"PurgeQueue", map[string]any{"QueueUrl": q}},
		},
		{
			"peek",
			[]string{"msg", "peek", "q.fifo", "-g", "a b", "-n", "3", "--from", "7"},
			"",
			map[string]string{"GET /v1/queues/q.fifo/messages?from=7&group=a+b&limit=3": `{"messages":[]}`},
			call{"GET /v1/queues/q.fifo/messages?from=7&group=a+b&limit=3", nil},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			endpoint, calls := fakeServer(t, tt.answers)
			if r := runTool(t, endpoint, tt.stdin, tt.args...); r.err != nil {
				t.Fatal(r.err)
			}
			seen := calls()
			if diff := cmp.Diff(tt.want, seen[len(seen)-1]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUsageErrors(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"name missing", []string{"queue", "show"}, "NAME is missing"},
		{"too many arguments", []string{"queue", "show", "a", "b"}, `unexpected argument "b"`},
		{"unknown subcommand", []string{"queue", "explode"}, `unknown command "explode"`},
		{"attribute without value", []string{"queue", "create", "q", "-a", "x"}, "--attribute"},
		{"message attribute without type", []string{"msg", "send", "q", "b", "-a", "x:=1"}, "--attribute"},
		{"format", []string{"queue", "list", "-o", "xml"}, `unknown output format "xml"`},
		{"timeout", []string{"queue", "list", "--timeout", "0s"}, "--timeout"},
		{"argument instead of a flag", []string{"queue", "list", "orders"},
			`unexpected argument "orders": seriatim queue list takes flags only`},
		{"two files", []string{"backup", "restore", "a", "b"}, `unexpected argument "b" after FILE`},
		{"file missing", []string{"backup", "restore"}, "FILE is missing"},
		{"nothing to update", []string{"queue", "update", "q"}, "--attribute is missing"},
		{"visibility missing", []string{"msg", "extend", "http://h/0/q", "h"}, "--visibility-timeout is missing"},
		{"handle missing", []string{"msg", "delete", "q"}, "RECEIPT-HANDLE is missing"},
		{"seconds instead of milliseconds", []string{"msg", "schedule", "q.fifo", "x", "--at", "1795000000"}, "1970-01-21T"},
		{"a date without dashes", []string{"msg", "schedule", "q.fifo", "x", "--at", "20261224"}, "1970-01-01T"},
		{"a time in the past", []string{"msg", "schedule", "q.fifo", "x", "--in", "-5m"}, "--in -5m0s"},
		{"body too large", []string{"msg", "send", "q"}, "larger than the limit of 1 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stdin := ""
			if tt.name == "body too large" {
				stdin = strings.Repeat("x", bodyBytesMax+1)
			}
			r := runTool(t, "http://127.0.0.1:1", stdin, tt.args...)
			if exit.CodeOf(r.err) != exit.Usage || !strings.Contains(r.err.Error(), tt.want) {
				t.Errorf("got %v (code %d), want %q", r.err, exit.CodeOf(r.err), tt.want)
			}
			if r.out != "" {
				t.Errorf("wrote %q to standard output", r.out)
			}
		})
	}
}

// The tool refuses input that is not UTF-8, because JSON would change its bytes.
func TestBodiesAreText(t *testing.T) {
	for _, args := range [][]string{
		{"msg", "send", "http://h/0/q"},
		{"msg", "send", "http://h/0/q", "x", "-a", "k=\xff"},
		{"msg", "schedule", "http://h/0/q.fifo", "--in", "1m"},
		{"topic", "publish", "t"},
	} {
		r := runTool(t, "http://127.0.0.1:1", "\xffPNG", args...)
		if exit.CodeOf(r.err) != exit.Usage || !strings.Contains(r.err.Error(), "UTF-8") ||
			!strings.Contains(exit.HintOf(r.err), "Binary") {
			t.Errorf("%q: exit code %d: %v", args, exit.CodeOf(r.err), r.err)
		}
	}
}

func TestExitCodes(t *testing.T) {
	tests := []struct {
		name   string
		status int
		body   string
		header string
		want   exit.Code
		text   string
	}{
		{"unknown queue", 400, `{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"The specified queue does not exist."}`,
			"AWS.SimpleQueueService.NonExistentQueue;Sender", exit.NotFound,
			"AWS.SimpleQueueService.NonExistentQueue: The specified queue does not exist. (request id r-1)"},
		{"unknown task", 400, `{"__type":"com.amazonaws.sqs#ResourceNotFoundException","message":"no task"}`,
			"ResourceNotFoundException;Sender", exit.NotFound, "no task"},
		{"denied", 403, `{"__type":"com.amazon.coral.service#AccessDeniedException","message":"no"}`, "", exit.Denied,
			"AccessDeniedException: no"},
		{"over a limit", 403, `{"__type":"com.amazonaws.sqs#OverLimit","message":"Too many messages in flight"}`, "OverLimit;Sender",
			exit.Conflict, "OverLimit"},
		{"throttled", 403, `{"__type":"com.amazonaws.sqs#RequestThrottled","message":"later"}`, "RequestThrottled;Sender", exit.Unavailable,
			"RequestThrottled"},
		{"exists", 400, `{"__type":"com.amazonaws.sqs#QueueNameExists","message":"differs"}`, "QueueAlreadyExists;Sender", exit.Conflict,
			"QueueAlreadyExists"},
		{"bad value", 400, `{"__type":"com.amazon.coral.service#InvalidParameterValueException","message":"bad"}`,
			"InvalidParameterValue;Sender", exit.Usage, "InvalidParameterValue"},
		{"no leader", 503, `{"__type":"com.amazonaws.sqs#ServiceUnavailable","message":"no leader"}`, "ServiceUnavailable;Receiver",
			exit.Unavailable, "no leader"},
		{"unknown outcome", 503, `{"__type":"com.amazonaws.sqs#OutcomeUnknown","message":"perhaps"}`, "OutcomeUnknown;Receiver",
			exit.Unavailable, "perhaps"},
		{"internal", 500, `oops`, "", exit.Failed, "HTTP 500: oops"},
		{"another program's page", 200, `<html>`, "", exit.Failed, "unreadable answer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("x-amzn-RequestId", "r-1")
				if tt.header != "" {
					w.Header().Set("x-amzn-query-error", tt.header)
				}
				w.WriteHeader(tt.status)
				if _, err := io.WriteString(w, tt.body); err != nil {
					t.Error(err)
				}
			}))
			defer server.Close()
			r := runTool(t, server.URL, "", "queue", "list")
			if exit.CodeOf(r.err) != tt.want || !strings.Contains(r.err.Error(), tt.text) {
				t.Errorf("got %v (code %d), want code %d and %q", r.err, exit.CodeOf(r.err), tt.want, tt.text)
			}
		})
	}
}

// Throttling ends by itself, so its exit code is not that for wrong usage.
func TestThrottled(t *testing.T) {
	err := refusal(&apiError{Status: 400, Type: "RequestThrottled", Message: "later"})
	if exit.CodeOf(err) != exit.Unavailable || exit.HintOf(err) == "" {
		t.Errorf("exit code %d, hint %q", exit.CodeOf(err), exit.HintOf(err))
	}
}

// TestDeniedHints checks the hint for each denial.
func TestDeniedHints(t *testing.T) {
	for code, want := range map[string]string{
		"MissingAuthenticationTokenException": "AWS_ACCESS_KEY_ID", "InvalidClientTokenIdException": "AWS_ACCESS_KEY_ID",
		"SignatureDoesNotMatchException": "AWS_ACCESS_KEY_ID", "AccessDeniedException": "policy put",
	} {
		err := refusal(&apiError{Status: 403, Type: code, Message: "no"})
		if exit.CodeOf(err) != exit.Denied || !strings.Contains(exit.HintOf(err), want) {
			t.Errorf("%s: exit code %d, hint %q", code, exit.CodeOf(err), exit.HintOf(err))
		}
	}
}

// TestLimitHints checks that the hint fits the exceeded limit.
func TestLimitHints(t *testing.T) {
	for message, want := range map[string]string{
		"The maximum number of in flight messages is reached: 120000.": "in flight",
		"The account has 1 queues, and its quota is 1.":                "seriatim account quota",
		"The quota of the account is exhausted: it has 5 messages of ": "seriatim account quota",
		"The policy would be longer than 8192 bytes.":                  "",
	} {
		got := exit.HintOf(refusal(&apiError{Status: 403, Type: "OverLimit", Message: message}))
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s\nhint %q, want %q in it", message, got, want)
		}
	}
}

func TestPartialBatch(t *testing.T) {
	endpoint, _ := fakeServer(t, map[string]string{
		"DeleteMessageBatch": `{"Successful":[{"Id":"0"}],"Failed":[{"Id":"1","Code":"ReceiptHandleIsInvalid","Message":"expired","SenderFault":true}]}`,
	})
	r := runTool(t, endpoint, "", "msg", "delete", "q.fifo", "good", "stale")
	if exit.CodeOf(r.err) != exit.Partial || !strings.Contains(r.words, "not deleted: stale: ReceiptHandleIsInvalid: expired") {
		t.Errorf("got %v, %q", r.err, r.words)
	}
}

// TestSomeBatchesDone: when a later batch fails, the output has the results of the earlier ones.
func TestSomeBatchesDone(t *testing.T) {
	first := true
	address, _ := node(t, func(w http.ResponseWriter, _ *http.Request) {
		if first {
			first = false
			_, _ = io.WriteString(w, `{"Failed":[{"Id":"3","Code":"ReceiptHandleIsInvalid","Message":"expired"}]}`)
			return
		}
		says(503, `{"__type":"x#OutcomeUnknown","message":"perhaps"}`)(w, nil)
	})
	r := runTool(t, address, "", append([]string{"msg", "delete", "http://h/0/q"}, strings.Split("a b c d e f g h i j k", " ")...)...)
	if exit.CodeOf(r.err) != exit.Unavailable || !strings.Contains(r.words, "not deleted: d") ||
		!strings.Contains(r.words, "deleted 9 of 11 before an error") {
		t.Errorf("exit code %d, %q: %v", exit.CodeOf(r.err), r.words, r.err)
	}
}

// TestHandlesAsJSON: -o json prints exactly one document.
func TestHandlesAsJSON(t *testing.T) {
	const refused = `{"Successful":[{"Id":"0"}],"Failed":[{"Id":"1","Code":"ReceiptHandleIsInvalid","Message":"expired","SenderFault":true}]}`
	endpoint, _ := fakeServer(t, map[string]string{
		"ReceiveMessage": `{"Messages":[{"MessageId":"m","ReceiptHandle":"good","Body":"b"}]}`, "DeleteMessageBatch": refused,
		"ChangeMessageVisibilityBatch": `{}`,
	})
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"msg", "delete", "q.fifo", "good", "stale"},
			`{"deleted":1,"refused":[{"receiptHandle":"stale","code":"ReceiptHandleIsInvalid","message":"expired"}]}`},
		{[]string{"msg", "release", "q.fifo", "good"}, `{"refused":[],"released":1}`},
		{[]string{"msg", "extend", "q.fifo", "good", "--visibility-timeout", "9"}, `{"extended":1,"refused":[]}`},
		{[]string{"msg", "receive", "q.fifo", "--delete"}, `{"messages":[{"messageId":"m","receiptHandle":"good","body":"b"}]}`},
	} {
		r := runTool(t, endpoint, "", append(test.args, "-o", "json")...)
		var got bytes.Buffer
		if err := json.Compact(&got, []byte(r.out)); err != nil || got.String() != test.want {
			t.Errorf("%v: %s, %v\nwant %s", test.args, r.out, err, test.want)
		}
	}
}

func TestNotConfirmed(t *testing.T) {
	counts := `{"Attributes":{"ApproximateNumberOfMessages":"2","ApproximateNumberOfMessagesNotVisible":"1","ApproximateNumberOfMessagesDelayed":"0"}}`
	for name, stdin := range map[string]string{"nothing typed": "", "another name": "other\n"} {
		t.Run(name, func(t *testing.T) {
			endpoint, _ := fakeServer(t, map[string]string{"GetQueueAttributes": counts}) // DeleteQueue would fail the test
			r := runTool(t, endpoint, stdin, "queue", "delete", "q.fifo")
			if exit.CodeOf(r.err) != exit.Usage ||
				!strings.Contains(r.words, "q.fifo has 2 visible, 1 in flight, 0 deferred and 0 delayed") {
				t.Errorf("got %v, %q", r.err, r.words)
			}
		})
	}
}

// TestInterruptedWhileAsked: Ctrl-C at a question, or while a body is typed, ends the command at
// once without a change.
func TestInterruptedWhileAsked(t *testing.T) {
	counts := `{"Attributes":{"ApproximateNumberOfMessages":"2","ApproximateNumberOfMessagesNotVisible":"1","ApproximateNumberOfMessagesDelayed":"0"}}`
	endpoint, _ := fakeServer(t, map[string]string{"GetQueueAttributes": counts}) // all else would fail the test
	for _, args := range [][]string{
		{"queue", "delete", "q.fifo"},
		{"msg", "send", "q.fifo"},
		{"key", "create", "--id", "k", "--secret-file", "-"},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		asked, typing := io.Pipe()
		root := &cobra.Command{Use: "seriatim", SilenceErrors: true, SilenceUsage: true}
		root.AddCommand(Commands()...)
		root.SetArgs(append(args, "--endpoint", endpoint, "--admin", endpoint))
		root.SetIn(asked)
		root.SetOut(io.Discard)
		root.SetErr(io.Discard)
		go func() {
			_, _ = io.WriteString(typing, "half") // until it is read
			interrupt()
			time.Sleep(2 * time.Second)
			_ = typing.Close()
		}()
		begun := time.Now()
		err := root.ExecuteContext(ctx)
		if took := time.Since(begun); exit.CodeOf(err) != exit.Interrupted || took > time.Second {
			t.Errorf("%v: exit code %d after %v: %v", args, exit.CodeOf(err), took, err)
		}
	}
}

// TestNothingIsNoName: an empty input does not confirm an empty name.
func TestNothingIsNoName(t *testing.T) {
	endpoint, _ := fakeServer(t, nil) // any call fails the test
	r := runTool(t, endpoint, "", "key", "revoke", "")
	if exit.CodeOf(r.err) != exit.Usage || !strings.Contains(r.err.Error(), "not confirmed") {
		t.Errorf("exit code %d: %v", exit.CodeOf(r.err), r.err)
	}
}

// TestInputFiles: the tool refuses input files that are empty or too large.
func TestInputFiles(t *testing.T) {
	endpoint, _ := fakeServer(t, nil) // any call fails the test
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, test := range []struct{ args, want string }{
		{"policy put anna --file " + file(strings.Repeat(" ", accessFileMax)+"{}"), "64 KiB"},
		{"key create --id k --secret-file " + file(strings.Repeat("x", accessFileMax+1)), "64 KiB"},
		{"key create --id k --secret-file " + file("\n"), "is empty"},
		{"status --admin-token-file " + file("\n"), "is empty"},
	} {
		if r := runTool(t, endpoint, "", strings.Fields(test.args)...); exit.CodeOf(r.err) != exit.Usage ||
			!strings.Contains(r.err.Error(), test.want) {
			t.Errorf("%s: exit code %d: %v", test.args, exit.CodeOf(r.err), r.err)
		}
	}
	t.Setenv(EnvAdminToken, "of anna\n")
	if token, err := (&options{}).adminToken(); token != "of anna" || err != nil {
		t.Errorf("the token in the environment is %q, %v", token, err)
	}
}

// TestTablesDoNotSteer: control characters in messages cannot move the cursor of a terminal.
func TestTablesDoNotSteer(t *testing.T) {
	endpoint, _ := fakeServer(t, map[string]string{
		"GET /v1/queues/q.fifo/messages?limit=10": `{"messages":[{"messageId":"m","body":"a\u001b[2Jb\u009b2Jc\nd\u007f\u0085é"}]}`,
	})
	r := runTool(t, endpoint, "", "msg", "peek", "q.fifo")
	if !strings.Contains(r.out, "a [2Jb 2Jc d  é") || strings.ContainsFunc(strings.ReplaceAll(r.out, "\n", ""), unicode.IsControl) {
		t.Errorf("%q", r.out)
	}
}

func TestNoServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := "http://" + l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	r := runTool(t, free, "", "status")
	if exit.CodeOf(r.err) != exit.Unavailable || !strings.Contains(exit.HintOf(r.err), "--admin") {
		t.Errorf("got %v, hint %q", r.err, exit.HintOf(r.err))
	}
	r = runTool(t, free, "", "queue", "list")
	if exit.CodeOf(r.err) != exit.Unavailable || !strings.Contains(exit.HintOf(r.err), "seriatim dev") {
		t.Errorf("got %v, hint %q", r.err, exit.HintOf(r.err))
	}
}

func TestTimeoutAndInterrupt(t *testing.T) {
	hold := make(chan struct{})
	arrived := make(chan struct{}, 3)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-hold
	}))
	defer server.Close()
	defer close(hold)
	w := &wire{client: &port{addresses: []string{server.URL}}, timeout: 50 * time.Millisecond, http: &http.Client{}}
	if err := w.call(t.Context(), "ListQueues", struct{}{}, nil, 0); exit.CodeOf(err) != exit.Timeout {
		t.Errorf("got %v", err)
	}
	<-arrived
	w.timeout = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	if err := w.call(ctx, "ListQueues", struct{}{}, nil, 0); exit.CodeOf(err) != exit.Interrupted || exit.HintOf(err) != "" {
		t.Errorf("got %v, hint %q", err, exit.HintOf(err))
	}
	ctx, cancel = context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	if err := w.call(ctx, "PurgeQueue", struct{}{}, nil, 0); exit.CodeOf(err) != exit.Interrupted ||
		exit.HintOf(err) != native.UnknownHint {
		t.Errorf("of a change that was sent: %v, hint %q", err, exit.HintOf(err))
	}
}

func TestStatusWithoutLeader(t *testing.T) {
	endpoint, _ := fakeServer(t, map[string]string{
		"GET /v1/status": `{"nodeId":"n-1","nodeName":"n","role":"follower","peers":[{"nodeId":"m-1","name":"m","lagEntries":-1,"lastContactMs":1500,"voter":true}]}`,
	})
	r := runTool(t, endpoint, "", "status")
	if exit.CodeOf(r.err) != exit.Unavailable || !strings.Contains(r.out, "follower") || !strings.Contains(r.out, "1.5s") {
		t.Errorf("got %v\n%s", r.err, r.out)
	}
}

// TestEmptyListsAreLists: empty lists in JSON are not null, so that jq '.warnings[]' works.
func TestEmptyListsAreLists(t *testing.T) {
	endpoint, _ := fakeServer(t, map[string]string{
		"GET /v1/status":          `{"nodeId":"n-1","leaderId":"n-1","warnings":null,"peers":null}`,
		"GET /v1/cluster/members": `{"healthy":true,"members":[{}],"warnings":null}`,
	})
	for command, lists := range map[string][]string{
		"status -o json": {"warnings", "peers"}, "cluster status -o json": {"warnings", "waiting"},
		"cluster members -o json": {"warnings", "waiting"},
	} {
		r := runTool(t, endpoint, "", strings.Fields(command)...)
		var got map[string]json.RawMessage
		if err := json.Unmarshal([]byte(r.out), &got); err != nil {
			t.Fatal(err)
		}
		for _, list := range lists {
			if string(got[list]) != "[]" {
				t.Errorf("%s: %s is %s", command, list, got[list])
			}
		}
	}
	bundle, _ := node(t, says(200, "{}"))
	if r := runTool(t, bundle, "", "debug", "bundle", "-o", "json", "--file", filepath.Join(t.TempDir(), "b")); !strings.Contains(r.out,
		`"missing": []`) {
		t.Errorf("debug bundle: %s", r.out)
	}
}

func TestAddresses(t *testing.T) {
	tests := []struct{ in, endpoint, admin string }{
		{"http://127.0.0.1:9324", "http://127.0.0.1:9324", "http://127.0.0.1:9325"},
		{"127.0.0.1:9334", "http://127.0.0.1:9334", "http://127.0.0.1:9335"},
		{"http://[::1]:9324/", "http://[::1]:9324", "http://[::1]:9325"},
		{"https://sqs.example.com", "https://sqs.example.com", "http://sqs.example.com:444"},
	}
	for _, tt := range tests {
		u, err := parseAddress("endpoint", tt.in)
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		if u.String() != tt.endpoint || adminOf(u) != tt.admin {
			t.Errorf("%s: endpoint %s, admin %s", tt.in, u, adminOf(u))
		}
	}
	for _, bad := range []string{"ftp://x:1", "http://", "http://x:1/path", "://", "http://x:1?y", "http://user:secret@x:1",
		"http://x:1#y"} {
		if u, err := parseAddress("endpoint", bad); err == nil {
			t.Errorf("%q became %v", bad, (*url.URL)(u))
		}
	}
}

func TestUnwrap(t *testing.T) {
	if err := exit.Wrap(context.Canceled); exit.CodeOf(err) != exit.Interrupted || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestDoctorInterrupted: an interrupted doctor does not report dead nodes.
func TestDoctorInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	address, _ := node(t, says(200, ""))
	if r := runToolIn(ctx, address, "", "doctor"); exit.CodeOf(r.err) != exit.Interrupted || r.out != "" {
		t.Errorf("exit code %d: %v, printed %q", exit.CodeOf(r.err), r.err, r.out)
	}
}

// TestNotWritten: the exit code for an unwritable bundle is not that for a missing server.
func TestNotWritten(t *testing.T) {
	if code := exit.CodeOf(bundleError(t.Context(), errors.New("no space left on device"))); code != exit.Failed {
		t.Errorf("exit code %d", code)
	}
	file := filepath.Join(t.TempDir(), "b")
	if r := runTool(t, closedPort(t), "", "debug", "bundle", "--file", file); exit.CodeOf(r.err) != exit.Unavailable {
		t.Errorf("of nobody: exit code %d: %v", exit.CodeOf(r.err), r.err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := runTool(t, closedPort(t), "", "debug", "bundle", "--file", file); exit.CodeOf(r.err) != exit.Conflict {
		t.Errorf("over a file: exit code %d: %v", exit.CodeOf(r.err), r.err)
	}
}

// TestListLimits: the tool refuses a limit below 1 and a negative --since.
func TestListLimits(t *testing.T) {
	for _, args := range []string{"session list q.fifo --limit 0", "session list q.fifo --limit -1", "session list q.fifo --since -1h",
		"group list q.fifo --limit 0", "group list q.fifo --limit -5"} {
		if r := runTool(t, closedPort(t), "", strings.Fields(args)...); exit.CodeOf(r.err) != exit.Usage {
			t.Errorf("%s: exit code %d: %v", args, exit.CodeOf(r.err), r.err)
		}
	}
}

// TestTextsOfJSON: the tool refuses flags that are not UTF-8, because JSON would change their bytes.
func TestTextsOfJSON(t *testing.T) {
	endpoint, _ := fakeServer(t, map[string]string{"GetQueueUrl": `{"QueueUrl":"http://h/1/q"}`}) // all else would fail the test
	for _, args := range [][]string{
		{"queue", "tag", "q", "k=\xff"}, {"queue", "create", "q", "--tag", "\xff=v"}, {"queue", "update", "q", "-a", "Policy=\xff"},
		{"msg", "send", "q", "x", "--trace-header", "Root=\xff"},
		{"msg", "schedule", "q.fifo", "x", "--in", "1h", "--trace-header", "Root=\xff"},
	} {
		if r := runTool(t, endpoint, "", args...); exit.CodeOf(r.err) != exit.Usage || !strings.Contains(r.err.Error(), "UTF-8") {
			t.Errorf("%q: exit code %d: %v", args, exit.CodeOf(r.err), r.err)
		}
	}
}

// TestSecretOfOtherBytes: the tool refuses a secret that is not UTF-8.
func TestSecretOfOtherBytes(t *testing.T) {
	address, asked := node(t, says(200, "{}"))
	for _, command := range []string{"key create --id i --secret-file -", "policy put anna --file -"} {
		if r := runTool(t, address, "s\xffcret", strings.Fields(command)...); exit.CodeOf(r.err) != exit.Usage || asked.Load() != 0 {
			t.Errorf("%s: exit code %d, asked %d times: %v", command, exit.CodeOf(r.err), asked.Load(), r.err)
		}
	}
}

// TestScheduledTooFar: the tool refuses a date without dashes and a time in microseconds.
func TestScheduledTooFar(t *testing.T) {
	for _, when := range []string{"--at 20261224180000", "--at 1795658527720123", "--at 1795658527720123456", "--at 9999-12-31T00:00:00Z",
		"--in 1000000h"} {
		args := append([]string{"msg", "schedule", "q.fifo", "x", "-g", "g", "-d", "1"}, strings.Fields(when)...)
		if r := runTool(t, closedPort(t), "", args...); exit.CodeOf(r.err) != exit.Usage || !strings.Contains(r.err.Error(), "years") {
			t.Errorf("%s: exit code %d: %v", when, exit.CodeOf(r.err), r.err)
		}
	}
}

// TestSequenceNumbers: the server gets the typed number, and the error quotes it.
func TestSequenceNumbers(t *testing.T) {
	for text, want := range map[string]uint64{"17": 17, "10000000000000000017": 10_000_000_000_000_000_017} {
		if got, err := parseSequence(text); err != nil || got != want || sequenceText(got) != text {
			t.Errorf("%s is %d, want %d: %v", text, got, want, err)
		}
	}
}

// TestAccessIsCompleted: shells complete accounts, users with a policy, and protocols.
func TestAccessIsCompleted(t *testing.T) {
	address, _ := node(t, func(w http.ResponseWriter, r *http.Request) {
		says(200, map[string]string{
			"/v1/accounts":        `{"accounts":[{"account":"111111111111"}]}`,
			"/v1/access/policies": `{"policies":[{"user":"anna"},{"user":"bob","account":"1"},{"user":"bob","account":"2"}]}`,
		}[r.URL.Path])(w, r)
	})
	for command, want := range map[string]string{
		"account show": "111111111111\n:4\n", "account quota": "111111111111\n:4\n", "account delete": "111111111111\n:4\n",
		"policy get": "anna\nbob\n:4\n", "policy delete": "anna\nbob\n:4\n", "bench send --protocol": "http\ngrpc\nstream\n:4\n",
	} {
		root := &cobra.Command{Use: "seriatim"}
		root.AddCommand(Commands()...)
		fields := strings.Fields(command)
		root.SetArgs(append([]string{"__complete", fields[0], fields[1], "--admin", address}, append(fields[2:], "")...))
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetErr(io.Discard)
		if err := root.ExecuteContext(t.Context()); err != nil || out.String() != want {
			t.Errorf("%s offers %q, want %q: %v", command, out.String(), want, err)
		}
	}
}

// TestBodyOfNothing: with -, the body comes from standard input, also from a terminal or a device.
func TestBodyOfNothing(t *testing.T) {
	endpoint, calls := fakeServer(t, map[string]string{"GetQueueUrl": `{"QueueUrl":"http://h/1/q"}`, "SendMessage": `{"MessageId":"m"}`})
	for _, args := range [][]string{{"msg", "send", "q"}, {"msg", "send", "q", "-"}} {
		nothing, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		root := &cobra.Command{Use: "seriatim", SilenceErrors: true, SilenceUsage: true}
		root.AddCommand(Commands()...)
		root.SetArgs(append(args, "--endpoint", endpoint))
		root.SetIn(nothing)
		root.SetOut(io.Discard)
		root.SetErr(io.Discard)
		err = root.ExecuteContext(t.Context())
		if asked, want := len(calls()) > 0, len(args) > 3; asked != want || (err == nil) != want {
			t.Errorf("%v: a message was sent: %v, want %v; %v", args, asked, want, err)
		}
		_ = nothing.Close() // it was read only
	}
}
