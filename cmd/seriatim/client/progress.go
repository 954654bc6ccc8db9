package client

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
)

// Ways of reporting progress.
const (
	progressAuto = "auto"
	progressJSON = "json"
	progressNone = "none"
	progressHelp = "auto (a line on a terminal, else nothing), json (an object a second on standard error) or none"
)

// progressInterval is the time between two reports of progress.
const progressInterval = time.Second

// progress reports the progress of a transfer or a redrive. Safe for concurrent use, because an
// upload may still be read when the answer arrives.
type progress struct {
	mu    sync.Mutex
	words io.Writer
	form  string
	begun time.Time
	last  time.Time
	bytes int64
	lines int // number of reports

	past        string // of counted; empty: it was not called
	done, total int64
}

func newProgress(words io.Writer, form string) (*progress, error) {
	switch form {
	case progressJSON, progressNone:
	case progressAuto:
		if !output.IsTerminal(words) {
			form = progressNone
		}
	default:
		return nil, exit.New(exit.Usage, fmt.Errorf("unknown form of progress %q", form), "use --progress auto, json or none")
	}
	now := time.Now()
	return &progress{words: words, form: form, begun: now, last: now}, nil
}

// reading counts the bytes that are read from r.
func (p *progress) reading(r io.Reader) io.Reader { return &countedReader{r, p} }

type countedReader struct {
	from io.Reader
	p    *progress
}

// Read reads and reports once a second.
func (r *countedReader) Read(content []byte) (int, error) {
	n, err := r.from.Read(content)
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	r.p.bytes += int64(n)
	if now := time.Now(); now.Sub(r.p.last) >= progressInterval {
		r.p.last = now
		r.p.report()
	}
	return n, err
}

// end reports the final count, if there are reports.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.form == progressJSON || p.lines > 0 {
		p.report()
	}
	if p.form == progressAuto && p.lines > 0 {
		fmt.Fprintln(p.words) //nolint:errcheck // a failed write cannot be reported
	}
}

func (p *progress) report() {
	bytes, elapsed := p.bytes, time.Since(p.begun).Seconds()
	switch p.form {
	case progressJSON:
		_ = json.NewEncoder(p.words).Encode(map[string]any{"bytes": bytes, "seconds": elapsed}) // a failed write cannot be reported
	case progressAuto:
		size := float64(bytes) / (1 << 20)
		fmt.Fprintf(p.words, "\r%.1f MiB, %.1f MiB/s ", size, size/max(elapsed, 0.001)) //nolint:errcheck // cannot be reported
	default:
		return
	}
	p.lines++
}

// moved reports messages instead of bytes, at most once a second except on a
// terminal.
func (p *progress) moved(moved, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.form == progressJSON && (p.lines == 0 || now.Sub(p.last) >= progressInterval) {
		// A failed write cannot be reported.
		_ = json.NewEncoder(p.words).Encode(map[string]any{"moved": moved, "toMove": total, "seconds": now.Sub(p.begun).Seconds()})
		p.last = now
		p.lines++
	}
	if p.form == progressAuto {
		fmt.Fprintf(p.words, "\r%d of %s moved ", moved, plural.Count(total, "message", "messages")) //nolint:errcheck // cannot be reported
		p.lines++
	}
}

// over reports the last counts, and ends the line that moved or counted wrote.
func (p *progress) over() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.past != "" && (p.form == progressJSON || p.form == progressAuto && p.lines > 0) {
		p.bar(time.Now())
	}
	if p.form == progressAuto && p.lines > 0 {
		fmt.Fprintln(p.words) //nolint:errcheck // a failed write cannot be reported
	}
}

// barWidth is the number of characters of a progress bar.
const barWidth = 24

// barInterval is the time between two states of a progress bar.
const barInterval = 100 * time.Millisecond

// counted reports messages of a total, which may be 0 for an unknown one. past says what was done
// with them, and is the key in JSON.
func (p *progress) counted(past string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.past, p.done, p.total = past, done, total
	now := time.Now()
	wait := map[string]time.Duration{progressJSON: progressInterval, progressAuto: barInterval}[p.form]
	if wait == 0 || now.Sub(p.last) < wait {
		return
	}
	p.last = now
	p.bar(now)
}

// bar reports the last arguments of counted.
func (p *progress) bar(now time.Time) {
	past, done, total := p.past, p.done, p.total
	p.lines++
	seconds := now.Sub(p.begun).Seconds()
	if p.form == progressJSON {
		// A failed write cannot be reported.
		_ = json.NewEncoder(p.words).Encode(map[string]any{past: done, "total": total, "seconds": seconds})
		return
	}
	bar := ""
	if total > 0 {
		filled := int(min(done, total) * barWidth / total)
		bar = fmt.Sprintf("[%s%s] %d %% ", strings.Repeat("=", filled), strings.Repeat(" ", barWidth-filled), min(done, total)*100/total)
	}
	//nolint:errcheck // a failed write cannot be reported
	fmt.Fprintf(p.words, "\r%s%d %s, %.0f/s ", bar, done, past, float64(done)/max(seconds, 0.001))
}
