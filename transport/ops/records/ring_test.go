package records

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

const enough = 1 << 20

func newLog(bytesMax int) (*Ring, *slog.Logger, *bytes.Buffer) {
	ring, out := NewRing(bytesMax, time.UnixMicro(100)), new(bytes.Buffer)
	return ring, slog.New(ring.Handler(slog.NewTextHandler(out, nil))), out
}

func TestRingHasWhatTheLogHas(t *testing.T) {
	t.Parallel()
	ring, log, out := newLog(enough)
	log.Debug("not in the log")
	log.With("node", "n1").WithGroup("request").Info("hello", "id", 7, slog.Group("from", "port", 1), "error", errors.New("bad"))
	list, last := ring.Find(Query{Limit: 10, Level: slog.LevelDebug}, enough)
	if len(list) != 1 || last != 101 || list[0].Seq != 101 || list[0].Message != "hello" || list[0].TimeMs == 0 ||
		fmt.Sprint(list[0].Attributes) != "[{node n1} {request.id 7} {request.from.port 1} {request.error bad}]" {
		t.Errorf("%+v, last %d", list, last)
	}
	if text := out.String(); !strings.Contains(text, "node=n1 request.id=7") || strings.Count(text, "\n") != 1 {
		t.Errorf("the log has %q", text)
	}
}

func TestRingIsBounded(t *testing.T) {
	t.Parallel()
	ring, log, _ := newLog(10_000)
	for i := range 1000 {
		log.Info("line", "i", i, "text", strings.Repeat("x", 2*textMax*(i%2)))
	}
	list, _ := ring.Find(Query{Limit: 1000}, enough)
	if ring.bytes > 10_000 || len(list) == 0 || list[len(list)-1].Attributes[0].Value != "999" ||
		len(list[len(list)-1].Attributes[1].Value) != textMax {
		t.Errorf("%d bytes, %d records", ring.bytes, len(list))
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	ring, log, _ := newLog(enough)
	for i := range 10 {
		log.Info("line", "i", i)
	}
	log.Warn("last", "who", "someone")
	count := func(q Query, jsonMax, want int) uint64 {
		t.Helper()
		list, last := ring.Find(q, jsonMax)
		if len(list) != want {
			t.Errorf("%+v finds %d records, want %d", q, len(list), want)
		}
		return last
	}
	count(Query{Limit: 5}, enough, 5)
	count(Query{Limit: 50, Level: slog.LevelWarn}, enough, 1)
	count(Query{Limit: 50, Find: "someone"}, enough, 1)
	count(Query{Limit: 50, Find: "nothing"}, enough, 0)
	count(Query{Limit: 50}, 300, 2)
	if last := count(Query{Limit: 3, After: 100}, enough, 3); last != 103 {
		t.Errorf("the answer covers %d", last)
	}
	if last := count(Query{Limit: 50, After: 103}, enough, 8); last != 111 {
		t.Errorf("the answer covers %d", last)
	}
	count(Query{Limit: 50, After: 111}, enough, 0)
}
