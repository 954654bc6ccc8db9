package progress

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// clock is a time that only a test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// A bar comes after a second. It has the count, the total, the rate and the time left, and a shorter
// line overwrites a longer one.
func TestBar(t *testing.T) {
	t.Parallel()
	c, words := &clock{at: time.Unix(0, 0)}, &strings.Builder{}
	b := newBar(words, Auto, c.now)
	b.Count("sent", 100, 1000) // it continues after 100
	c.at = c.at.Add(900 * time.Millisecond)
	b.Count("sent", 190, 1000)
	if words.Len() > 0 {
		t.Errorf("before a second: %q", words)
	}
	c.at = c.at.Add(100 * time.Millisecond)
	b.Count("sent", 200, 1000)
	c.at = c.at.Add(time.Second)
	b.Count("sent", 999, 1000)
	c.at = c.at.Add(time.Millisecond) // too early for a new state
	b.Count("sent", 1000, 1000)
	b.End()
	want := "\r[====                ] 20 % 200 of 1000 sent, 100/s, 8s left" +
		"\r[=================== ] 99 % 999 of 1000 sent, 450/s, 0s left" +
		"\r[====================] 100 % 1000 of 1000 sent, 450/s       \n"
	if got := words.String(); got != want {
		t.Errorf("\n%q, want\n%q", got, want)
	}
}

// A command without a known total has a count and a rate.
func TestUnknownTotal(t *testing.T) {
	t.Parallel()
	c, words := &clock{at: time.Unix(0, 0)}, &strings.Builder{}
	b := newBar(words, Auto, c.now)
	b.Count("imported", 0, 0)
	c.at = c.at.Add(2 * time.Second)
	b.Count("imported", 50, 0)
	if got := words.String(); got != "\r50 imported, 25/s" {
		t.Errorf("%q", got)
	}
}

// Bytes are counted while they are read, in MiB. A second attempt begins at zero.
func TestReading(t *testing.T) {
	t.Parallel()
	c, words := &clock{at: time.Unix(0, 0)}, &strings.Builder{}
	b := newBar(words, Auto, c.now)
	for range 2 {
		if _, err := io.ReadAll(io.LimitReader(b.Reading(endless{c}, 10<<20), 5<<20)); err != nil {
			t.Fatal(err)
		}
	}
	b.End()
	if got := words.String(); strings.Count(got, "] 50 % 5.0 of 10.0 MiB, 1.0 MiB/s, 5s left") != 3 || strings.Contains(got, "0.9 MiB/s") {
		t.Errorf("%q", got)
	}
}

// endless is a source of a MiB a second.
type endless struct{ c *clock }

func (e endless) Read(to []byte) (int, error) {
	e.c.at = e.c.at.Add(time.Duration(len(to)) * time.Second / (1 << 20))
	return len(to), nil
}

// A line of the command takes the place of the bar, which comes again with the next count.
func TestLinesBesideTheBar(t *testing.T) {
	t.Parallel()
	c, words := &clock{at: time.Unix(0, 0)}, &strings.Builder{}
	b := newBar(words, Auto, c.now)
	c.at = c.at.Add(time.Second)
	b.Count("sent", 1, 2)
	if _, err := io.WriteString(b, "not sent: 2\n"); err != nil {
		t.Fatal(err)
	}
	c.at = c.at.Add(time.Second)
	b.Count("sent", 2, 2)
	bar := "[==========          ] 50 % 1 of 2 sent"
	want := "\r" + bar + "\r" + strings.Repeat(" ", len(bar)) + "\rnot sent: 2\n\r[====================] 100 % 2 of 2 sent, 1/s"
	if got := words.String(); got != want {
		t.Errorf("\n%q, want\n%q", got, want)
	}
}

// In JSON the first object comes after a second, and the last one always. Without a terminal there
// is nothing.
func TestForms(t *testing.T) {
	t.Parallel()
	c, words := &clock{at: time.Unix(0, 0)}, &strings.Builder{}
	b := newBar(words, JSON, c.now)
	b.Count("exported", 3, 0)
	c.at = c.at.Add(100 * time.Millisecond)
	b.Count("exported", 7, 0)
	b.End()
	var got map[string]float64
	if err := json.Unmarshal([]byte(words.String()), &got); err != nil || got["exported"] != 7 || got["seconds"] != 0.1 || len(got) != 3 {
		t.Errorf("%s, %v", words, err)
	}
	words.Reset()
	b, err := New(words, Auto)
	if err != nil {
		t.Fatal(err)
	}
	b.Count("sent", 1, 1)
	b.End()
	if words.Len() > 0 {
		t.Errorf("without a terminal: %q", words)
	}
	if _, err := New(words, "bar"); exit.CodeOf(err) != exit.Usage {
		t.Errorf("%v", err)
	}
}
