package hostlimit

import (
	"log/slog"
	"sync"
	"time"
)

// Pause limits the log to one line per reason in that time: any caller can cause refusals.
const Pause = 30 * time.Second

// Refusals counts refusals by reason. Safe for concurrent use.
type Refusals struct {
	log *slog.Logger
	now func() time.Duration

	reasons []string // in the order of NewRefusals
	mu      sync.Mutex
	counts  map[string]*count
}

type count struct {
	total  uint64
	logged uint64 // total at the last log line
	at     time.Duration
}

// NewRefusals returns counts for these reasons. now is a monotonic clock.
func NewRefusals(log *slog.Logger, now func() time.Duration, reasons ...string) *Refusals {
	r := &Refusals{log: log, now: now, reasons: reasons, counts: make(map[string]*count, len(reasons))}
	for _, why := range reasons {
		r.counts[why] = &count{}
	}
	return r
}

// Refuse counts a refusal, and logs it unless one for the same reason was logged within Pause.
func (r *Refusals) Refuse(why string, level slog.Level, message string, attributes ...any) {
	now := r.now()
	r.mu.Lock()
	c := r.counts[why]
	c.total++
	if c.logged != 0 && now-c.at < Pause {
		r.mu.Unlock()
		return
	}
	if unlogged := c.total - c.logged - 1; unlogged > 0 {
		attributes = append(attributes, "more_since_last", unlogged)
	}
	c.logged, c.at = c.total, now
	r.mu.Unlock()
	if level >= slog.LevelWarn {
		r.log.Warn(message, attributes...) //nolint:sloglint // constants of the callers
	} else {
		r.log.Info(message, attributes...) //nolint:sloglint // constants of the callers
	}
}

// Each calls each with every reason and its count.
func (r *Refusals) Each(each func(why string, count uint64)) {
	for _, why := range r.reasons {
		r.mu.Lock()
		total := r.counts[why].total
		r.mu.Unlock()
		each(why, total)
	}
}
