// Package progress reports on standard error how far a command is that takes more than a second: as
// a bar on a terminal, or as JSON.
package progress

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/term"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// Forms of progress.
const (
	Auto = "auto"
	JSON = "json"
	None = "none"
	Help = "auto (a bar on a terminal, else nothing), json (an object a second on standard error) or none"
)

// Forms lists the values of the flag, for shells that complete them.
var Forms = []string{Auto, JSON, None}

const (
	// interval is the time between two JSON objects, and the time before the first report.
	interval    = time.Second
	barInterval = 100 * time.Millisecond
	barWidth    = 20 // characters
	// usualWidth is the width of a terminal that does not tell its own.
	usualWidth = 80
)

// inBytes is the unit of Reading, and its key in JSON.
const inBytes = "bytes"

// Bar reports the progress of one command. Safe for concurrent use, because an upload may still be
// read when the answer arrives.
type Bar struct {
	mu    sync.Mutex
	words io.Writer
	form  string
	now   func() time.Time

	begun, last time.Time // last is the time of the last report
	drawn       bool      // there was a bar
	shown       string    // the bar on the terminal; empty: there is none

	unit        string // past participle of the counted work, or inBytes; empty: nothing is counted yet
	done, total int64  // total is 0 if it is unknown
	// The rate counts from the first known count: a command that continues begins above zero.
	first   int64
	firstAt time.Time
}

// New returns a Bar that writes to the standard error of a command.
func New(words io.Writer, form string) (*Bar, error) {
	switch form {
	case JSON, None:
	case Auto:
		if !output.IsTerminal(words) {
			form = None
		}
	default:
		return nil, exit.New(exit.Usage, fmt.Errorf("unknown form of progress %q", form), "use --progress auto, json or none")
	}
	return newBar(words, form, time.Now), nil
}

func newBar(words io.Writer, form string, now func() time.Time) *Bar {
	begun := now()
	return &Bar{words: words, form: form, now: now, begun: begun, last: begun}
}

// Write writes lines of the command to standard error. They take the place of the bar.
func (b *Bar) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shown != "" {
		fmt.Fprintf(b.words, "\r%s\r", strings.Repeat(" ", len(b.shown))) //nolint:errcheck // the next write returns the error
		b.shown = ""
	}
	return b.words.Write(text)
}

// Count reports how much of a total is done, which is 0 if it is unknown. past says what happened to
// the counted messages, such as sent, and is the key in JSON.
func (b *Bar) Count(past string, done, total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if b.unit == "" || done < b.done { // the first count, also of a second attempt
		b.first, b.firstAt = done, now
	}
	b.unit, b.done, b.total = past, done, total
	wait := interval
	if b.drawn {
		wait = barInterval
	}
	if b.form != None && now.Sub(b.last) >= wait {
		b.report(now)
	}
}

// Reading counts the bytes that are read from r, of a total that is 0 or negative if it is unknown.
func (b *Bar) Reading(r io.Reader, total int64) io.Reader {
	total = max(total, 0)
	b.Count(inBytes, 0, total)
	return &countedReader{r, b, 0, total}
}

type countedReader struct {
	from        io.Reader
	b           *Bar
	done, total int64
}

// Read reads and counts.
func (r *countedReader) Read(content []byte) (int, error) {
	n, err := r.from.Read(content)
	r.done += int64(n)
	r.b.Count(inBytes, r.done, r.total)
	return n, err
}

// End reports the last count, as JSON or if there was a bar, and ends the line of the bar.
func (b *Bar) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.unit == "" || b.form == None || b.form == Auto && !b.drawn {
		return
	}
	b.report(b.now())
	if b.form == Auto {
		fmt.Fprintln(b.words) //nolint:errcheck // a failed write cannot be reported
		b.shown = ""
	}
}

func (b *Bar) report(now time.Time) {
	b.last = now
	if b.form == JSON {
		// A failed write cannot be reported.
		_ = json.NewEncoder(b.words).Encode(map[string]any{b.unit: b.done, "total": b.total, "seconds": now.Sub(b.begun).Seconds()})
		return
	}
	line := b.line(now)
	if width := b.width(); len(line) >= width { // a longer line would not be overwritten
		line = line[:width-1]
	}
	fmt.Fprintf(b.words, "\r%-*s", len(b.shown), line) //nolint:errcheck // a failed write cannot be reported
	b.shown, b.drawn = line, true
}

// line returns the text of the bar, in ASCII.
func (b *Bar) line(now time.Time) string {
	var line strings.Builder
	size := func(n int64) string { return strconv.FormatInt(n, 10) }
	what, perSecond, scale := " "+b.unit, "%.0f/s", 1.0
	if b.unit == inBytes {
		size = func(n int64) string { return strconv.FormatFloat(float64(n)/(1<<20), 'f', 1, 64) }
		what, perSecond, scale = " MiB", "%.1f MiB/s", 1<<20
	}
	if b.total > 0 {
		done := min(b.done, b.total)
		filled := int(done * barWidth / b.total)
		fmt.Fprintf(&line, "[%-*s] %d %% ", barWidth, strings.Repeat("=", filled), done*100/b.total)
	}
	line.WriteString(size(b.done))
	if b.total > 0 {
		line.WriteString(" of " + size(b.total))
	}
	line.WriteString(what)
	elapsed := now.Sub(b.firstAt).Seconds()
	if done := b.done - b.first; done > 0 && elapsed > 0 {
		rate := float64(done) / elapsed
		fmt.Fprintf(&line, ", "+perSecond, rate/scale)
		if b.done < b.total {
			left := time.Duration(float64(b.total-b.done) / rate * float64(time.Second))
			line.WriteString(", " + left.Round(time.Second).String() + " left")
		}
	}
	return line.String()
}

// width returns the width of the terminal.
func (b *Bar) width() int {
	if file, ok := b.words.(*os.File); ok {
		if width, _, err := term.GetSize(file.Fd()); err == nil && width > 1 {
			return width
		}
	}
	return usualWidth
}
