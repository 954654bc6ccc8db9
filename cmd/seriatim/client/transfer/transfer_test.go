package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
)

// The reader returns every line of any length with its end, and refuses a line that is too long.
func TestLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300<<10)
	in := newLines(strings.NewReader("one\n\n" + long + "\nlast"))
	for i, want := range []struct {
		text   string
		whole  bool
		offset int64
	}{{"one", true, 4}, {"", true, 5}, {long, true, 6 + int64(len(long))}, {"last", false, 10 + int64(len(long))}} {
		line, whole, err := in.next()
		if err != nil || string(line) != want.text || whole != want.whole || in.offset != want.offset || in.number != int64(i+1) {
			t.Fatalf("line %d: %d bytes, whole %v, offset %d, number %d, %v", i+1, len(line), whole, in.offset, in.number, err)
		}
	}
	if _, _, err := in.next(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	if _, _, err := newLines(strings.NewReader(strings.Repeat("x", lineMax+1))).next(); err == nil ||
		!strings.Contains(err.Error(), "line 1 is longer") {
		t.Errorf("%v", err)
	}
}

// Lines that are no messages are refused with the reason.
func TestParse(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		``: "EOF", `{}`: "body is missing", `{"body":1}`: "cannot unmarshal", `{"body":"x"} {}`: "more than one JSON value",
		`{"body":"x","bdoy":1}`: "unknown field", `{"body":"x","attributes":{"a":{"type":"String"}}}`: "either text or binary",
		`{"body":"x","attributes":{"a":{"type":"String","text":"x","binary":"eA=="}}}`: "either text or binary",
		`{"body":"x","format":"json"}`: "neither bytes nor amqp", `{"body":"x","format":"amqp"}`: "needs amqp",
		`{"body":"x","amqp":{"sections":""}}`: "needs amqp", `{"body":"x","bodyEncoding":"hex"}`: "is not base64",
		`{"body":"x","bodyEncoding":"base64"}`: "is not base64",
	} {
		if _, err := parse([]byte(line)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
	r, err := parse([]byte(`{"body":"","groupId":"g","deduplicationId":"d","enqueueAtMs":5,"messageId":"m"}`))
	clustertest.Must(t, err)
	fifo, standard, renamed := r.message(true, false, 1), r.message(false, false, 1), r.message(true, true, 1)
	if fifo.GetDeduplicationId() != "d" || fifo.GetEnqueueAtMs() != 5 || renamed.GetDeduplicationId() != "m" {
		t.Errorf("%v, %v", fifo, renamed)
	}
	if standard.DeduplicationId != nil || standard.GetEnqueueAtMs() != 0 || standard.GetGroupId() != "g" {
		t.Errorf("%v", standard)
	}
	r.MessageID = ""
	if got := r.message(true, true, 7).GetDeduplicationId(); got != "line-7" {
		t.Errorf("%q", got)
	}
}

// An exported message is imported as it was sent, whatever its format.
func TestFormats(t *testing.T) {
	t.Parallel()
	text := func(value string) *api.Attribute { return api.TextAttribute("String", value) }
	for _, c := range []struct {
		stored *api.Delivery
		line   string // a part of it
		want   *api.Message
	}{
		{&api.Delivery{Body: "text"}, `"body":"text"`, &api.Message{Body: "text"}},
		{&api.Delivery{Format: api.FormatBytes, BodyBytes: []byte("text")}, `"format":"bytes"`, &api.Message{BodyBytes: []byte("text")}},
		{&api.Delivery{Format: api.FormatBytes}, `"body":""`, &api.Message{BodyBytes: []byte{}}},
		{
			&api.Delivery{Format: api.FormatBytes, BodyBytes: []byte("\x00\xff")}, `"body":"AP8=","bodyEncoding":"base64"`,
			&api.Message{BodyBytes: []byte("\x00\xff")},
		},
		{
			&api.Delivery{
				Format: api.FormatAMQP, BodyBytes: []byte("x"),
				Amqp:       &api.AMQPContent{Sections: []byte("\x00s"), AttributesBeside: []string{"reason"}},
				Attributes: map[string]*api.Attribute{"color": text("red"), "reason": text("poison")},
				Changes:    []*api.PropertyChange{{Name: "color", Value: []byte("\xa1\x03red")}},
			}, `"properties":{"color"`,
			&api.Message{
				BodyBytes: []byte("x"), Amqp: &api.AMQPContent{Sections: []byte("\x00s")},
				Attributes: map[string]*api.Attribute{"reason": text("poison")},
				Changes:    []*api.PropertyChange{{Name: "color", Value: []byte("\xa1\x03red")}},
			},
		},
		{
			&api.Delivery{Format: api.FormatAMQP, Amqp: &api.AMQPContent{Body: []byte("\x00Sw\x40")}}, `"amqp":{"sections":`,
			&api.Message{Amqp: &api.AMQPContent{Body: []byte("\x00Sw\x40")}},
		},
	} {
		line, err := json.Marshal(RecordOf(&api.PeekedMessage{Message: c.stored}))
		clustertest.Must(t, err)
		r, err := parse(line)
		clustertest.Must(t, err)
		if got := r.message(true, false, 1); !proto.Equal(got, c.want) || !strings.Contains(string(line), c.line) {
			t.Errorf("%s: %v, want %v", line, got, c.want)
		}
	}
}

// The state of an import has no gap: lines behind an unanswered one are listed until it is answered.
func TestState(t *testing.T) {
	t.Parallel()
	s := state{}
	for _, line := range []int64{1, 2, 5, 4, 5, 7} {
		s.answered(line, digest{byte(line)})
	}
	if diff := cmp.Diff(state{Lines: 2, Also: []int64{4, 5, 7}, Last: 7, Digest: digest{7}}, s); diff != "" {
		t.Error(diff)
	}
	s.answered(3, digest{3})
	if diff := cmp.Diff(state{Lines: 5, Also: []int64{7}, Last: 7, Digest: digest{7}}, s); diff != "" {
		t.Error(diff)
	}
	s.answered(6, digest{6})
	if s.Lines != 7 || len(s.Also) != 0 {
		t.Errorf("%+v", s)
	}
}

// interrupted leaves the state of an import that was answered lines 1 and 3 of a text.
func interrupted(t *testing.T, stateFile string, to Target, text string) {
	t.Helper()
	i := &Import{Queue: "q", Target: to, StateFile: stateFile}
	_, err := i.Load(strings.NewReader(text))
	clustertest.Must(t, err)
	in := newLines(strings.NewReader(text))
	for range 3 {
		o, err := i.read(in, 0, nil)
		clustertest.Must(t, err)
		if o.Number != 2 {
			i.state.answered(o.Number, o.digest)
		}
	}
	clustertest.Must(t, i.save())
}

// An import skips exactly the lines that an earlier run was answered.
func TestImportSkips(t *testing.T) {
	t.Parallel()
	file, to := filepath.Join(t.TempDir(), "state"), Target{"arn:q", "1"}
	const text = `{"body":"1"}` + "\n" + `{"body":"2"}` + "\n" + `{"body":"3"}` + "\n"
	interrupted(t, file, to, text)
	i, whole := &Import{Queue: "q", Target: to, StateFile: file}, strings.NewReader(text+`{"body":"4"}`)
	if lines, err := i.Load(whole); err != nil || lines != 1 {
		t.Fatal(lines, err)
	}
	in, got := newLines(whole), []int64{}
	for {
		o, err := i.read(in, i.state.Lines, i.state.Also)
		clustertest.Must(t, err)
		if o == nil {
			break
		}
		got = append(got, o.Number)
	}
	if diff := cmp.Diff([]int64{2, 4}, got); diff != "" {
		t.Error(diff)
	}
}

// An import refuses the state of another queue, of an earlier queue of the same name, and of a file
// whose answered lines have changed.
func TestImportRefusesStates(t *testing.T) {
	t.Parallel()
	file, to := filepath.Join(t.TempDir(), "state"), Target{"arn:q", "1"}
	const text = `{"body":"1"}` + "\n" + `{"body":"2"}` + "\n" + `{"body":"3"}` + "\n"
	interrupted(t, file, to, text)
	for _, c := range []struct {
		to         Target
		text, says string
	}{
		{Target{"arn:other", "1"}, text, "it is about the queue arn:q"},
		{Target{"arn:q", "2"}, text, "another queue of this name"},
		{to, strings.Replace(text, "3", "4", 1), "the lines up to line 3 are sent"},
		{to, strings.Replace(text, "1", "0", 1), "the lines up to line 3 are sent"},
		{to, text[:strings.Index(text, "\n")+1], "the lines up to line 3 are sent"},
		{to, "", "the lines up to line 3 are sent"},
	} {
		_, err := (&Import{Queue: "q", Target: c.to, StateFile: file}).Load(strings.NewReader(c.text))
		if exit.CodeOf(err) != exit.Usage || !strings.Contains(err.Error(), c.says) ||
			!strings.Contains(exit.HintOf(err), "add --restart") {
			t.Errorf("%v, %q: %v", c.to, c.text, err)
		}
	}
	clustertest.Must(t, os.WriteFile(file, []byte("{"), 0o600))
	if _, err := (&Import{StateFile: file}).Load(strings.NewReader(text)); exit.CodeOf(err) != exit.Usage {
		t.Errorf("%v", err)
	}
}

// Callers of one pace share its rate, also if one begins after another. A batch as large as the rate
// of a second needs one caller.
func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pace, begun := NewPace(100), time.Now()
		for queue := range 2 {
			var callers sync.WaitGroup
			for range 4 {
				callers.Go(func() {
					if err := pace.Wait(t.Context(), 50); err != nil {
						t.Error(err)
					}
				})
			}
			callers.Wait()
			if got, want := time.Since(begun), time.Duration(queue+1)*2*time.Second; got != want {
				t.Errorf("%d messages took %v, want %v", (queue+1)*200, got, want)
			}
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if err := pace.Wait(ended, 1000); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
	for rate, want := range map[float64]int{0: 16, 0.5: 1, 10: 1, 35: 3, 1000: 16} {
		if got := NewPace(rate).AtOnce(16, 10); got != want {
			t.Errorf("rate %v: %d, want %d", rate, got, want)
		}
	}
}

// Continue cuts an incomplete last line and begins after the message of the line before.
func TestContinue(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.jsonl")
	const whole = `{"body":"1","sequenceNumber":"10000000000000000001"}` + "\n" + `{"body":"2","sequenceNumber":"10000000000000000007"}` + "\n"
	for content, want := range map[string]struct {
		from  uint64
		lines int64
		kept  string
	}{
		whole: {10000000000000000008, 2, whole}, whole + `{"bo`: {10000000000000000008, 2, whole}, "": {0, 0, ""}, `{"bo`: {0, 0, ""},
	} {
		clustertest.Must(t, os.WriteFile(file, []byte(content), 0o600))
		f, from, lines, err := Continue(file)
		clustertest.Must(t, err)
		clustertest.Must(t, f.Close())
		kept, err := os.ReadFile(file)
		if err != nil || from != want.from || lines != want.lines || string(kept) != want.kept {
			t.Errorf("%q: from %d, %d lines, kept %q, %v", content, from, lines, kept, err)
		}
	}
	for content, says := range map[string]string{"text\n": "not a message", `{"body":"x"}` + "\n": "no sequence number"} {
		clustertest.Must(t, os.WriteFile(file, []byte(content), 0o600))
		if _, _, _, err := Continue(file); exit.CodeOf(err) != exit.Usage || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", content, err)
		}
		if left, err := os.ReadFile(file); err != nil || string(left) != content {
			t.Errorf("%q became %q, %v", content, left, err)
		}
	}
}
