package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// sent is the answer to a message that was accepted.
var sent = &seriatimpb.SendResponse{Results: []*seriatimpb.SendResult{{MessageId: "m", SequenceNumber: 1}}}

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
	return runAlone(ctx, stdin, append(args, "--endpoint", endpoint, "--admin", endpoint)...)
}

// runAlone runs a command without flags of an address.
func runAlone(ctx context.Context, stdin string, args ...string) result {
	root := &cobra.Command{Use: "seriatim", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(Commands()...)
	root.SetArgs(args)
	var out, words bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&words)
	root.SetIn(strings.NewReader(stdin))
	err := root.ExecuteContext(ctx)
	return result{out.String(), words.String(), err}
}

func TestRequests(t *testing.T) {
	const q = "http://h/000000000000/q.fifo"
	const name = "000000000000/q.fifo"
	counts := counted("2", "1", "0")
	tests := []struct {
		name    string
		args    []string
		stdin   string
		answers map[string]any
		want    call // the last one
	}{
		{
			"send all members",
			[]string{
				"msg", "send", "q.fifo", "body", "-g", "g1", "-d", "d1", "--delay", "3", "-a", "k=v", "-a", "n:Number=5", "-a",
				"b:Binary=\x00\xff",
				"--trace-header", "Root=1",
			},
			"",
			map[string]any{"Send": sent},
			call{"Send", &seriatimpb.SendRequest{Queue: "q.fifo", Messages: []*seriatimpb.OutgoingMessage{{
				Body: "body", GroupId: new("g1"), DeduplicationId: new("d1"), DelaySeconds: new(int32(3)), TraceHeader: "Root=1",
				Attributes: map[string]*seriatimpb.Attribute{
					"k": api.TextAttribute("String", "v"), "n": api.TextAttribute("Number", "5"),
					"b": api.BinaryAttribute("Binary", []byte{0, 0xff}),
				},
			}}}},
		},
		{
			"send from standard input, empty group given",
			[]string{"msg", "send", q, "--group", ""},
			"from\nstdin",
			map[string]any{"Send": sent},
			call{"Send", &seriatimpb.SendRequest{Queue: name,
				Messages: []*seriatimpb.OutgoingMessage{{Body: "from\nstdin", GroupId: new("")}}}},
		},
		{
			"receive leaves out what was not given",
			[]string{"msg", "receive", "q"},
			"",
			map[string]any{"Receive": &seriatimpb.ReceiveResponse{}},
			call{"Receive", &seriatimpb.ReceiveRequest{Queue: "q", MaxMessages: new(int32(1))}},
		},
		{
			"receive with zeros",
			[]string{"msg", "receive", "q.fifo", "-w", "0", "--visibility-timeout", "0", "--attempt-id", "a"},
			"",
			map[string]any{"Receive": &seriatimpb.ReceiveResponse{}},
			call{"Receive", &seriatimpb.ReceiveRequest{
				Queue: "q.fifo", MaxMessages: new(int32(1)), WaitSeconds: new(int32(0)), VisibilityTimeoutSeconds: new(int32(0)),
				AttemptId: new("a"),
			}},
		},
		{
			"delete after eleven handles sends a second batch",
			append([]string{"msg", "delete", q}, strings.Split("a b c d e f g h i j k", " ")...), "",
			map[string]any{"Delete": &seriatimpb.DeleteResponse{}},
			call{"Delete", &seriatimpb.DeleteRequest{Queue: name, ReceiptHandles: []string{"k"}}},
		},
		{
			"tag",
			[]string{"queue", "tag", q, "a=b=c", "d="},
			"",
			map[string]any{"TagQueue": &seriatimpb.TagQueueResponse{}},
			call{"TagQueue", &seriatimpb.TagQueueRequest{Queue: name, Tags: map[string]string{"a": "b=c", "d": ""}}},
		},
		{
			"extend to zero",
			[]string{"msg", "extend", q, "h", "--visibility-timeout", "0"},
			"",
			map[string]any{"ChangeVisibility": &seriatimpb.ChangeVisibilityResponse{}},
			call{"ChangeVisibility", &seriatimpb.ChangeVisibilityRequest{Queue: name,
				Entries: []*seriatimpb.VisibilityEntry{{ReceiptHandle: "h", VisibilityTimeoutSeconds: new(int32(0))}}}},
		},
		{
			"redrive with all flags",
			[]string{"dlq", "redrive", q, "--to", q, "--rate", "5", "--detach", "--yes"},
			"",
			map[string]any{"GetQueueAttributes": counts, "StartMoveTask": &seriatimpb.StartMoveTaskResponse{TaskId: "h"}},
			call{"StartMoveTask", &seriatimpb.StartMoveTaskRequest{Source: name, Destination: name, MessagesPerSecondMax: new(int32(5))}},
		},
		{
			"cancel",
			[]string{"dlq", "cancel", q},
			"",
			map[string]any{
				"GetQueueAttributes": counts,
				"ListMoveTasks": &seriatimpb.ListMoveTasksResponse{Tasks: []*seriatimpb.MoveTask{
					{Status: seriatimpb.MoveTaskStatus_MOVE_TASK_STATUS_RUNNING, TaskId: "h"},
					{Status: seriatimpb.MoveTaskStatus_MOVE_TASK_STATUS_COMPLETED, TaskId: "g"},
				}},
				"CancelMoveTask": &seriatimpb.CancelMoveTaskResponse{Moved: 4},
			},
			call{"CancelMoveTask", &seriatimpb.CancelMoveTaskRequest{Source: name, TaskId: "h"}},
		},
		{
			"purge after the name was typed",
			[]string{"queue", "purge", "q.fifo"},
			"q.fifo\n",
			map[string]any{"GetQueueAttributes": counts, "PurgeQueue": &seriatimpb.PurgeQueueResponse{}},
			call{"PurgeQueue", &seriatimpb.PurgeQueueRequest{Queue: "q.fifo"}},
		},
		{
			"peek",
			[]string{"msg", "peek", "q.fifo", "-g", "a b", "-n", "3", "--from", "7"},
			"",
			map[string]any{"GET /v1/queues/q.fifo/messages?from=7&group=a+b&limit=3": `{"messages":[]}`},
			call{"GET /v1/queues/q.fifo/messages?from=7&group=a+b&limit=3", ""},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			endpoint, calls := fakeServer(t, tt.answers)
			if r := runTool(t, endpoint, tt.stdin, tt.args...); r.err != nil {
				t.Fatal(r.err)
			}
			seen := calls()
			if diff := cmp.Diff(tt.want, seen[len(seen)-1], protocmp.Transform()); diff != "" {
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

// The tool refuses attributes that are not UTF-8, unless their type is Binary.
func TestAttributesAreText(t *testing.T) {
	for _, args := range [][]string{
		{"msg", "send", "http://h/0/q", "x", "-a", "k=\xff"},
		{"topic", "publish", "t", "x", "-a", "k=\xff"},
	} {
		r := runTool(t, "http://127.0.0.1:1", "\xffPNG", args...)
		if exit.CodeOf(r.err) != exit.Usage || !strings.Contains(r.err.Error(), "UTF-8") ||
			!strings.Contains(exit.HintOf(r.err), "Binary") {
			t.Errorf("%q: exit code %d: %v", args, exit.CodeOf(r.err), r.err)
		}
	}
}

// Errors of the admin port have exit codes.
func TestAdminErrors(t *testing.T) {
	for _, test := range []struct {
		status int
		body   string
		code   exit.Code
		text   string
	}{
		{500, "oops", exit.Failed, "HTTP 500 oops"},
		{200, "<html>", exit.Failed, "unreadable answer"},
		{404, `{"error":"no such node"}`, exit.NotFound, "no such node"},
		{403, `{"error":"the token may not do this"}`, exit.Denied, "the token may not do this"},
		{400, `{"error":"limit must be a number"}`, exit.Usage, "limit must be a number"},
		{503, `{"error":"there is no leader"}`, exit.Unavailable, "there is no leader"},
		{503, `{"error":"sends are refused at the moment: disk"}`, exit.Unavailable, native.PressureHint},
		{409, `{"error":"it exists","kind":"conflict","hint":"choose another"}`, exit.Conflict, "choose another"},
	} {
		address, _ := node(t, says(test.status, test.body))
		r := runTool(t, address, "", "key", "list")
		if exit.CodeOf(r.err) != test.code || !strings.Contains(r.err.Error()+exit.HintOf(r.err), test.text) {
			t.Errorf("%d %s: exit code %d: %v, hint %q", test.status, test.body, exit.CodeOf(r.err), r.err, exit.HintOf(r.err))
		}
	}
}

func TestPartialBatch(t *testing.T) {
	endpoint, _ := fakeServer(t, map[string]any{"Delete": &seriatimpb.DeleteResponse{Outcomes: outcomes("", "ReceiptHandleIsInvalid")}})
	r := runTool(t, endpoint, "", "msg", "delete", "q.fifo", "good", "stale")
	if exit.CodeOf(r.err) != exit.Partial || !strings.Contains(r.words, "not deleted: stale: ReceiptHandleIsInvalid: expired") {
		t.Errorf("got %v, %q", r.err, r.words)
	}
}

// TestSomeBatchesDone: when a later batch fails, the output has the results of the earlier ones.
func TestSomeBatchesDone(t *testing.T) {
	first := true
	address, _ := node(t, speaks(func(string, proto.Message) (proto.Message, error) {
		if first {
			first = false
			return &seriatimpb.DeleteResponse{Outcomes: outcomes("", "", "", "ReceiptHandleIsInvalid", "", "", "", "", "", "")}, nil
		}
		return nil, refusal(codes.Unavailable, "OutcomeUnknown", "perhaps")
	}))
	r := runTool(t, address, "", append([]string{"msg", "delete", "http://h/0/q"}, strings.Split("a b c d e f g h i j k", " ")...)...)
	if exit.CodeOf(r.err) != exit.Unavailable || !strings.Contains(r.words, "not deleted: d") ||
		!strings.Contains(r.words, "deleted 9 of 11 before an error") {
		t.Errorf("exit code %d, %q: %v", exit.CodeOf(r.err), r.words, r.err)
	}
}

// TestHandlesAsJSON: -o json prints exactly one document.
func TestHandlesAsJSON(t *testing.T) {
	endpoint, _ := fakeServer(t, map[string]any{
		"Receive": &seriatimpb.ReceiveResponse{Messages: []*seriatimpb.Message{{MessageId: "m", ReceiptHandle: "good", Body: "b",
			SentAtMs: 1, FirstReceivedAtMs: 2, ReceiveCount: 1, DeadLetterSource: "s", Attributes: map[string]*seriatimpb.Attribute{
				"k": api.TextAttribute("String", "v"), "b": api.BinaryAttribute("Binary.x", []byte{1})}}}},
		"GetQueueAttributes": counted("0", "0", "0"),
		"Delete":             &seriatimpb.DeleteResponse{Outcomes: outcomes("", "ReceiptHandleIsInvalid")},
		"ChangeVisibility":   &seriatimpb.ChangeVisibilityResponse{},
	})
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"msg", "delete", "q.fifo", "good", "stale"},
			`{"deleted":1,"refused":[{"receiptHandle":"stale","code":"ReceiptHandleIsInvalid","message":"expired"}]}`},
		{[]string{"msg", "release", "q.fifo", "good"}, `{"refused":[],"released":1}`},
		{[]string{"msg", "extend", "q.fifo", "good", "--visibility-timeout", "9"}, `{"extended":1,"refused":[]}`},
		{[]string{"msg", "receive", "q.fifo", "--delete"}, `{"messages":[{"messageId":"m","receiptHandle":"good","body":"b","attributes":` +
			`{"ApproximateFirstReceiveTimestamp":"2","ApproximateReceiveCount":"1","DeadLetterQueueSourceArn":` +
			`"arn:aws:sqs:us-east-1:000000000000:s","SentTimestamp":"1"},"messageAttributes":{"b":{"DataType":"Binary.x","BinaryValue":"AQ=="},` +
			`"k":{"DataType":"String","StringValue":"v"}}}]}`},
	} {
		r := runTool(t, endpoint, "", append(test.args, "-o", "json")...)
		var got bytes.Buffer
		if err := json.Compact(&got, []byte(r.out)); err != nil || got.String() != test.want {
			t.Errorf("%v: %s, %v\nwant %s", test.args, r.out, err, test.want)
		}
	}
}

func TestNotConfirmed(t *testing.T) {
	counts := counted("2", "1", "0")
	for name, stdin := range map[string]string{"nothing typed": "", "another name": "other\n"} {
		t.Run(name, func(t *testing.T) {
			endpoint, _ := fakeServer(t, map[string]any{"GetQueueAttributes": counts}) // DeleteQueue would fail the test
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
	counts := counted("2", "1", "0")
	endpoint, _ := fakeServer(t, map[string]any{"GetQueueAttributes": counts}) // all else would fail the test
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
	endpoint, _ := fakeServer(t, map[string]any{
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
	address, _ := node(t, func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-hold
	})
	t.Cleanup(func() { close(hold) }) // before the server is closed, which waits for its requests
	for _, command := range []string{"status", "queue list"} {
		if r := runTool(t, address, "", append(strings.Fields(command), "--timeout", "50ms")...); exit.CodeOf(r.err) != exit.Timeout {
			t.Errorf("%s: %v", command, r.err)
		}
		<-arrived
	}
	for _, test := range []struct{ command, hint string }{
		{"status", ""}, {"cluster add n4", native.UnknownHint}, {"queue purge q --yes", "a change may have taken effect"},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		go func() { <-arrived; interrupt() }()
		r := runToolIn(ctx, address, "", strings.Fields(test.command)...)
		if exit.CodeOf(r.err) != exit.Interrupted || !strings.Contains(exit.HintOf(r.err), test.hint) ||
			(test.hint == "") != (exit.HintOf(r.err) == "") {
			t.Errorf("%s: %v, hint %q", test.command, r.err, exit.HintOf(r.err))
		}
	}
}

func TestStatusWithoutLeader(t *testing.T) {
	endpoint, _ := fakeServer(t, map[string]any{
		"GET /v1/status": `{"nodeId":"n-1","nodeName":"n","role":"follower","peers":[{"nodeId":"m-1","name":"m","lagEntries":-1,"lastContactMs":1500,"voter":true}]}`,
	})
	r := runTool(t, endpoint, "", "status")
	if exit.CodeOf(r.err) != exit.Unavailable || !strings.Contains(r.out, "follower") || !strings.Contains(r.out, "1.5s") {
		t.Errorf("got %v\n%s", r.err, r.out)
	}
}

// TestEmptyListsAreLists: empty lists in JSON are not null, so that jq '.warnings[]' works.
func TestEmptyListsAreLists(t *testing.T) {
	endpoint, _ := fakeServer(t, map[string]any{
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
	endpoint, _ := fakeServer(t, nil) // any call fails the test
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
		if got, err := parseSequence("x", text); err != nil || got != want || sequenceText(got) != text {
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
	endpoint, calls := fakeServer(t, map[string]any{"Send": sent})
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
