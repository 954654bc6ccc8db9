// Package records keeps the newest records of a log in memory, bounded in bytes, so that the admin
// port can answer with those of all nodes. A [Ring] takes the records that its handler passes on: it
// has what the log has, and no more.
package records

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Record is one record of a log.
type Record struct {
	Seq        uint64 // rises, also over restarts of the process while its clock does
	TimeMs     int64
	Level      slog.Level
	Message    string
	Attributes []Attribute
}

// Attribute is an attribute of a Record. The names of groups precede its name, with dots.
type Attribute struct{ Name, Value string }

const (
	textMax     = 4 << 10 // of one text of a record, in bytes
	recordBytes = 64      // of a record or an attribute, beside its texts
)

// Ring keeps the newest records. Safe for concurrent use.
type Ring struct {
	bytesMax int

	mu      sync.Mutex
	records []Record // oldest first
	bytes   int
	last    uint64
}

// NewRing returns a Ring for so many bytes.
func NewRing(bytesMax int, now time.Time) *Ring {
	return &Ring{bytesMax: bytesMax, last: uint64(now.UnixMicro())} //nolint:gosec // after 1970
}

func (r *Record) size() int {
	n := recordBytes + len(r.Message)
	for _, a := range r.Attributes {
		n += recordBytes + len(a.Name) + len(a.Value)
	}
	return n
}

func (r *Ring) add(record Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	record.Seq = r.last
	r.records, r.bytes = append(r.records, record), r.bytes+record.size()
	for r.bytes > r.bytesMax && len(r.records) > 1 {
		r.bytes -= r.records[0].size()
		r.records = r.records[1:] // Find may still read the first one
	}
}

// Query selects records.
type Query struct {
	After   uint64 // Seq; with it the oldest records are returned, without the newest
	SinceMs int64
	Level   slog.Level // the lowest
	Find    string     // in the message or an attribute; case matters
	Limit   int
}

func (q *Query) selects(r *Record) bool {
	if r.Seq <= q.After || r.TimeMs < q.SinceMs || r.Level < q.Level {
		return false
	}
	if q.Find == "" || strings.Contains(r.Message, q.Find) {
		return true
	}
	for _, a := range r.Attributes {
		if strings.Contains(a.Value, q.Find) || strings.Contains(a.Name, q.Find) {
			return true
		}
	}
	return false
}

// Find returns records, oldest first, in at most jsonMax bytes of JSON. last is the newest number
// that the answer covers: with it as After, Find returns the records that follow.
func (r *Ring) Find(q Query, jsonMax int) (list []Record, last uint64) {
	r.mu.Lock()
	all := r.records
	last = r.last
	r.mu.Unlock() // records are never changed
	list = []Record{}
	size := 0
	take := func(record Record) bool {
		if !q.selects(&record) {
			return true
		}
		text, err := json.Marshal(record)
		if size += len(text); err != nil || size > jsonMax || len(list) >= q.Limit {
			return false
		}
		list = append(list, record)
		return true
	}
	if q.After > 0 {
		for _, record := range all {
			if !take(record) {
				return list, record.Seq - 1
			}
		}
		return list, last
	}
	for i := len(all) - 1; i >= 0 && take(all[i]); i-- {
	}
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list, last
}

// Handler returns a handler that keeps the records for next, and passes them on.
func (r *Ring) Handler(next slog.Handler) slog.Handler { return &handler{ring: r, next: next} }

type handler struct {
	ring   *Ring
	next   slog.Handler
	fields []Attribute
	prefix string // of the open groups
}

// Enabled reports whether next takes records of a level.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle keeps a record and passes it on.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	kept := Record{TimeMs: r.Time.UnixMilli(), Level: r.Level, Message: shortened(r.Message)}
	kept.Attributes = append(make([]Attribute, 0, len(h.fields)+r.NumAttrs()), h.fields...)
	r.Attrs(func(a slog.Attr) bool {
		kept.Attributes = flattened(kept.Attributes, h.prefix, a)
		return true
	})
	h.ring.add(kept)
	return h.next.Handle(ctx, r)
}

// WithAttrs returns a handler with attributes for all its records.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.next = h.next.WithAttrs(attrs)
	with.fields = append([]Attribute(nil), h.fields...)
	for _, a := range attrs {
		with.fields = flattened(with.fields, h.prefix, a)
	}
	return &with
}

// WithGroup returns a handler whose further attributes are in a group.
func (h *handler) WithGroup(name string) slog.Handler {
	with := *h
	with.next = h.next.WithGroup(name)
	if name != "" {
		with.prefix += name + "."
	}
	return &with
}

// flattened appends an attribute, or those of a group.
func flattened(to []Attribute, prefix string, a slog.Attr) []Attribute {
	value := a.Value.Resolve()
	if value.Kind() != slog.KindGroup {
		if a.Equal(slog.Attr{}) {
			return to
		}
		return append(to, Attribute{prefix + a.Key, shortened(value.String())})
	}
	if a.Key != "" {
		prefix += a.Key + "."
	}
	for _, member := range value.Group() {
		to = flattened(to, prefix, member)
	}
	return to
}

// shortened returns a valid text of bounded length. It copies, because the record outlives the
// request in whose memory a text may be.
func shortened(text string) string {
	return strings.ToValidUTF8(strings.Clone(text[:min(len(text), textMax)]), "\uFFFD")
}
