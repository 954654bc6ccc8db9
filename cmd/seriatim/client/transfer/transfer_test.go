package transfer

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
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

// The state of an import has no gap: lines behind an unanswered one are listed until it is answered.
func TestState(t *testing.T) {
	t.Parallel()
	s := state{}
	for _, line := range []int64{1, 2, 5, 4, 5, 7} {
		s.answered(line)
	}
	if diff := cmp.Diff(state{Lines: 2, Also: []int64{4, 5, 7}}, s); diff != "" {
		t.Error(diff)
	}
	s.answered(3)
	if diff := cmp.Diff(state{Lines: 5, Also: []int64{7}}, s); diff != "" {
		t.Error(diff)
	}
	s.answered(6)
	if s.Lines != 7 || len(s.Also) != 0 {
		t.Errorf("%+v", s)
	}
}

// An import skips exactly the lines that an earlier run was answered, and refuses a state file of
// another queue.
func TestImportSkips(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "state")
	first := &Import{Queue: "q", StateFile: file, state: state{Queue: "q", Lines: 1, Also: []int64{3}}}
	clustertest.Must(t, first.save())
	second := &Import{Queue: "q", StateFile: file}
	if lines, err := second.Load(); err != nil || lines != 1 {
		t.Fatal(lines, err)
	}
	in, got := newLines(strings.NewReader(`{"body":"1"}`+"\n"+`{"body":"2"}`+"\n"+`{"body":"3"}`+"\n"+`{"body":"4"}`)), []int64{}
	for {
		o, err := second.read(in, second.state.Lines, second.state.Also)
		clustertest.Must(t, err)
		if o == nil {
			break
		}
		got = append(got, o.Number)
	}
	if diff := cmp.Diff([]int64{2, 4}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := (&Import{Queue: "other", StateFile: file}).Load(); exit.CodeOf(err) != exit.Usage ||
		!strings.Contains(exit.HintOf(err), "remove the file") {
		t.Errorf("%v", err)
	}
	clustertest.Must(t, os.WriteFile(file, []byte("{"), 0o600))
	if _, err := second.Load(); exit.CodeOf(err) != exit.Usage {
		t.Errorf("%v", err)
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
