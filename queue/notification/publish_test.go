package notification

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/message"
)

func utf8All(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool { return !utf8.ValidString(s) })
}

// wantText compares an error with a text; an empty text means no error.
func wantText(t *testing.T, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("error %q, want %q", got, want)
	}
}

func TestCheckSubject(t *testing.T) {
	t.Parallel()
	const refused = "Invalid parameter: Subject"
	for _, tc := range []struct{ subject, want string }{
		{"s", ""},
		{" ", ""},
		{"\t", ""},
		{strings.Repeat("é", 99), ""},
		{strings.Repeat("🙂", 99), ""},
		{strings.Repeat("a", 100), refused},
		{"", refused},
		{"a\nb", refused},
		{"a\rb", refused},
		{"a\x00", refused},
		{"a\xff", refused},
	} {
		wantText(t, CheckSubject(tc.subject), tc.want)
	}
}

func TestCheckNotEmpty(t *testing.T) {
	t.Parallel()
	wantText(t, CheckNotEmpty(""), "Invalid parameter: Empty message")
	wantText(t, CheckNotEmpty(" "), "")
}

func TestCheckSize(t *testing.T) {
	t.Parallel()
	const refused = "Invalid parameter: Message too long"
	attributes := []message.MessageAttribute{{Name: "name", DataType: "String", Value: "value"}} // 15 bytes
	wantText(t, CheckSize(262_144, limits.PublishBytesMax), "")
	wantText(t, CheckSize(262_145, limits.PublishBytesMax), refused)
	wantText(t, CheckSize(message.Size(strings.Repeat("a", 262_144-15), attributes), limits.PublishBytesMax), "")
	wantText(t, CheckSize(message.Size(strings.Repeat("a", 262_144-14), attributes), limits.PublishBytesMax), refused)
}

func TestQueueText(t *testing.T) {
	t.Parallel()
	const (
		notJSON   = "Invalid parameter: Message Structure - JSON message body failed to parse"
		noDefault = "Invalid parameter: Message Structure - No default entry in JSON message body"
	)
	nested := func(depth int) string {
		return `{"default":"d","x":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`
	}
	for _, tc := range []struct{ name, message, want, err string }{
		{"default", `{"default":"d"}`, "d", ""},
		{"for queues", ` { "default" : "d" , "sqs" : "q" } `, "q", ""},
		{"for queues first", `{"sqs":"q","default":"d"}`, "q", ""},
		{"other protocols", `{"default":"d","http":"h","SQS":"Q","Default":"D"}`, "d", ""},
		{"escapes", `{"\u0064efault":"\"\u00e9\n\ud83d\ude42"}`, "\"é\n🙂", ""},
		{"JSON in a string", `{"default":"{\"a\":1}"}`, `{"a":1}`, ""},
		{"empty", `{"default":"d","sqs":""}`, "", ""},
		{"no default", `{"sqs":"q"}`, "", noDefault},
		{"nothing", `{}`, "", noDefault},
		{"default is a number", `{"default":1,"sqs":"q"}`, "", noDefault},
		{"default is null", `{"default":null}`, "", noDefault},
		{"default is an object", `{"default":{"default":"d"}}`, "", noDefault},
		{"for queues is a number", `{"default":"d","sqs":1}`, "d", ""},
		{"for queues is an object", `{"default":"d","sqs":{"a":"b"}}`, "d", ""},
		{"twice", `{"default":"d","default":"e"}`, "e", ""},
		{"twice, then not a string", `{"default":"d","default":1}`, "d", ""},
		{"nests deep", nested(999), "d", ""},
		{"nests too deep", nested(1000), "", notJSON},
		{"text", `plain`, "", notJSON},
		{"a string", `"default"`, "", notJSON},
		{"an array", `["default"]`, "", notJSON},
		{"null", `null`, "", notJSON},
		{"no text", ``, "", notJSON},
		{"not closed", `{"default":"d"`, "", notJSON},
		{"more behind it", `{"default":"d"}x`, "", notJSON},
		{"single quotes", `{'default':'d'}`, "", notJSON},
		{"not UTF-8", "{\"default\":\"\xff\"}", "", notJSON},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := QueueText(tc.message)
			wantText(t, err, tc.err)
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// FuzzQueueText compares with the standard library.
func FuzzQueueText(f *testing.F) {
	for _, message := range []string{
		`{"default":"d","sqs":"q"}`, `{"default":"\u0000\ud800"}`, `{"default":1,"sqs":null}`, `[]`, `{"default":"a","default":"b"}`,
		`{"a":{"default":"b"}}`, `{"sqs":"`,
	} {
		f.Add(message)
	}
	f.Fuzz(func(t *testing.T, message string) {
		if !utf8.ValidString(message) || strings.Count(message, "[")+strings.Count(message, "{") >= structureDepthMax {
			_, _ = QueueText(message)
			return
		}
		got, err := QueueText(message)
		// Null is not an object here, and no map in the library.
		var members map[string]json.RawMessage
		if readErr := json.Unmarshal([]byte(message), &members); readErr != nil || members == nil {
			if !errors.Is(err, ErrNotJSON) {
				t.Fatalf("%q: %v, want %v", message, err, ErrNotJSON)
			}
			return
		}
		if strings.Count(message, "default") > 1 || strings.Count(message, "sqs") > 1 || strings.Contains(message, `\u`) {
			return // a name may be repeated
		}
		byDefault, hasDefault := stringIn(members["default"])
		forQueues, hasQueues := stringIn(members["sqs"])
		if !hasDefault {
			if !errors.Is(err, ErrNoDefault) {
				t.Fatalf("%q: %v, want %v", message, err, ErrNoDefault)
			}
			return
		}
		want := byDefault
		if hasQueues {
			want = forQueues
		}
		if err != nil || got != want {
			t.Fatalf("%q: got %q (%v), want %q", message, got, err, want)
		}
	})
}

func stringIn(raw json.RawMessage) (string, bool) {
	var text *string
	if raw == nil || json.Unmarshal(raw, &text) != nil || text == nil {
		return "", false
	}
	return *text, true
}
