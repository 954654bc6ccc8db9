package diagnose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
)

// Nodes are the nodes that are asked.
type Nodes interface {
	// Addresses are those of their admin ports.
	Addresses() []string
	// Get asks one of them.
	Get(ctx context.Context, address, path string) (status int, body []byte, err error)
}

// Check is one question with thresholds.
type Check struct {
	Name  string
	Short string
	Unit  string
	one   string // the unit of exactly one
	zero  string // what is said of none; empty: the number, as of others
	// Below says that low values are bad.
	Below      bool
	Warn, Crit float64 // unless others are given

	measure func(ctx context.Context, nodes Nodes, now time.Time) (finding, error)
}

// finding is a measured value.
type finding struct {
	value float64
	of    string // whose it is
	none  string // why there is nothing to measure, and nothing wrong with that
	// remark is what there is to say of the value, and advice what to do if it is not good; empty: what always is.
	remark, advice string
	// silent are the nodes of which nothing is known, where each was to be measured.
	silent []string
}

// note says what the value does not.
func (f finding) note() string {
	var notes []string
	for _, note := range []string{f.none, f.remark} {
		if note != "" {
			notes = append(notes, note)
		}
	}
	if len(f.silent) > 0 {
		notes = append(notes, "no answer from "+strings.Join(f.silent, ", "))
	}
	return strings.Join(notes, "; ")
}

// Level is the outcome of a check. The numbers are exit codes, as monitoring systems in
// the tradition of Nagios expect them.
type Level int

// Levels.
const (
	OK Level = iota
	Warning
	Critical
	Unknown
)

var levelNames = [...]string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}

// String is the name of the level.
func (l Level) String() string { return levelNames[l] }

// Outcome is what a check found.
type Outcome struct {
	Check string   `json:"check"`
	Level string   `json:"level"`
	Value *float64 `json:"value"` // null: nothing was measured
	Unit  string   `json:"unit"`
	Of    string   `json:"of,omitempty"`
	Note  string   `json:"note,omitempty"`
	Warn  float64  `json:"warn"`
	Crit  float64  `json:"crit"`

	level    Level
	measured string // the value with its unit
	advice   string
}

// Line is the outcome in one line, with the value and the thresholds behind a bar, as
// monitoring systems read it.
func (o Outcome) Line() string {
	line := o.Level + " - " + o.Check + ": "
	if o.Value == nil {
		return line + o.Note
	}
	line += o.measured
	if o.Of != "" {
		line += " (" + o.Of + ")"
	}
	if o.Note != "" {
		line += "; " + o.Note
	}
	return line + fmt.Sprintf(" | %s=%.6g;%g;%g", o.Check, *o.Value, o.Warn, o.Crit)
}

// Run measures and compares.
func (c Check) Run(ctx context.Context, nodes Nodes, now time.Time, warn, crit float64) (Outcome, Level) {
	o := Outcome{Check: c.Name, Unit: c.Unit, Warn: warn, Crit: crit}
	found, err := c.measure(ctx, nodes, now)
	switch {
	case ctx.Err() != nil: // nodes that were not asked any more may be worse than those that were
		o.level, o.Note = Unknown, "interrupted"
	case err != nil:
		o.level, o.Note = Unknown, err.Error()
	case found.none != "":
		o.Note = found.note()
	default:
		o.Note = found.note()
		o.Value, o.Of, o.level = &found.value, found.of, c.level(found.value, warn, crit)
		o.measured, o.advice = c.words(found.value), found.advice
	}
	o.Level = o.level.String()
	return o, o.level
}

// words are a value with its unit.
func (c Check) words(value float64) string {
	if value == 0 && c.zero != "" {
		return c.zero
	}
	return fmt.Sprintf("%.4g ", value) + plural.Form(value, c.one, c.Unit)
}

func (c Check) level(value, warn, crit float64) Level {
	beyond := func(mark float64) bool { return value > mark }
	if c.Below {
		beyond = func(mark float64) bool { return value < mark }
	}
	switch {
	case beyond(crit):
		return Critical
	case beyond(warn):
		return Warning
	default:
		return OK
	}
}

// Checks are all checks with thresholds.
func Checks() []Check {
	return []Check{
		{Name: "quorum", Short: "How many more nodes may fail", Unit: "nodes may fail", one: "node may fail", zero: "no node may fail", Below: true, Warn: 1, Crit: 0, measure: spareNodes},
		{Name: "disk", Short: "Free space of the data directories", Unit: "% free", one: "% free", Below: true, Warn: 20, Crit: 10, measure: freeSpace},
		{Name: "certs", Short: "Days until the first certificate ends", Unit: "days left", one: "day left", Below: true, Warn: 14, Crit: 3, measure: certificates},
		{Name: "clock", Short: "How far clocks are apart", Unit: "seconds apart", one: "second apart", Warn: 1, Crit: 10, measure: largest("seriatim_clock_skew_seconds", "peer")},
		{Name: "lag", Short: "How far members are behind the leader", Unit: "entries behind", one: "entry behind", Warn: 1000, Crit: 100_000, measure: largest("seriatim_raft_peer_lag_entries", "peer")},
		{Name: "dlq", Short: "Messages in queues with dlq or dead in their name", Unit: "messages", one: "message", Warn: 0, Crit: 1000, measure: deadLetters},
	}
}

// ErrNobody: no node answered.
var ErrNobody = errors.New("no node answers; is --admin right?")

// each asks nodes for a document until enough answered. Its error is why none did; silent are
// those that did not.
func each(ctx context.Context, nodes Nodes, path string, take func(address string, body []byte) (enough bool)) (silent []string, err error) {
	failed, answered := ErrNobody, false
	for _, address := range nodes.Addresses() {
		status, body, err := nodes.Get(ctx, address, path)
		switch {
		case err != nil:
			failed, silent = fmt.Errorf("%w (%w)", ErrNobody, err), append(silent, address)
		case status != http.StatusOK:
			failed, silent = fmt.Errorf("%s answers %d: %s", address, status, sentence(body)), append(silent, address)
		default:
			answered = true
			if take(address, body) {
				return silent, nil
			}
		}
	}
	if answered {
		return silent, nil
	}
	return silent, failed
}

func spareNodes(ctx context.Context, nodes Nodes, _ time.Time) (finding, error) {
	f, err := spareBy(ctx, nodes, membersPath)
	if err == nil {
		return f, nil
	}
	// The leader is asked for it, and there may be none: then what each node knows by itself.
	if local, failed := spareBy(ctx, nodes, membersPath+"?local=true"); failed == nil && local.value < 0 {
		return local, nil
	}
	return f, err
}

const membersPath = "/v1/cluster/members"

// spareBy asks nodes how many more may fail until one says so. Below zero: too many have.
func spareBy(ctx context.Context, nodes Nodes, path string) (f finding, err error) {
	var broken error
	_, err = each(ctx, nodes, path, func(_ string, body []byte) bool {
		var list struct {
			Summary string
			Healthy bool
			MayFail int
			Voters  int
		}
		if broken = json.Unmarshal(body, &list); broken != nil {
			return false
		}
		f = finding{value: float64(list.MayFail), of: list.Summary}
		if list.MayFail == 0 && strings.HasPrefix(list.Summary, "No ") {
			f.value = -1
		}
		if list.MayFail == 0 && list.Healthy { // the voters are too few, and nothing is away that could be started
			f.remark = plural.Count(list.Voters, "voter survives", "voters survive") + " no failure"
			f.advice = "no node is away; add " + plural.Form(list.Voters, "two nodes", "one node") + ", so that one of three may fail: docs/manual/operations.md#growing"
		}
		return true
	})
	return f, errors.Join(err, broken)
}

// every reads the metrics of all nodes, and notes in f which gave none.
func every(ctx context.Context, nodes Nodes, f *finding, take func(address string, list []series)) error {
	silent, err := each(ctx, nodes, "/metrics", func(address string, body []byte) bool {
		take(address, parse(string(body)))
		return false
	})
	f.silent = silent
	return err
}

func freeSpace(ctx context.Context, nodes Nodes, _ time.Time) (finding, error) {
	f := finding{none: "no node tells the size of its disk", value: math.Inf(1)}
	err := every(ctx, nodes, &f, func(address string, list []series) {
		free, total := 0.0, 0.0
		for _, s := range list {
			switch s.name {
			case "seriatim_disk_free_bytes":
				free = s.value
			case "seriatim_disk_total_bytes":
				total = s.value
			}
		}
		if total > 0 && 100*free/total < f.value {
			f = finding{value: 100 * free / total, of: address}
		}
	})
	return f, err
}

func certificates(ctx context.Context, nodes Nodes, now time.Time) (finding, error) {
	f := finding{none: "no port has a certificate", value: math.Inf(1)}
	err := every(ctx, nodes, &f, func(address string, list []series) {
		for _, s := range list {
			if s.name != "seriatim_tls_cert_expiry_timestamp_seconds" {
				continue
			}
			if days := (s.value - float64(now.Unix())) / 86400; days < f.value {
				f = finding{value: days, of: s.label("port") + " port of " + address}
			}
		}
	})
	return f, err
}

// largest finds the largest absolute value of a metric over all nodes.
func largest(name, by string) func(context.Context, Nodes, time.Time) (finding, error) {
	return func(ctx context.Context, nodes Nodes, _ time.Time) (finding, error) {
		f := finding{none: "no node knows of others", value: -1}
		err := every(ctx, nodes, &f, func(address string, list []series) {
			for _, s := range list {
				if s.name == name && math.Abs(s.value) > f.value {
					f = finding{value: math.Abs(s.value), of: s.label(by) + ", says " + address}
				}
			}
		})
		return f, err
	}
}

// queuesPerPage is how many queues one answer lists.
const queuesPerPage = "1000"

func deadLetters(ctx context.Context, nodes Nodes, _ time.Time) (f finding, err error) {
	most := int64(-1)
	f.none = "no queue has dlq or dead in its name"
	for next := ""; ; {
		var page struct {
			Queues []struct {
				Name                                 string
				Visible, InFlight, Delayed, Deferred int64
			}
			Next string
		}
		var broken error
		_, err := each(ctx, nodes, "/v1/queues?limit="+queuesPerPage+"&after="+next, func(_ string, body []byte) bool {
			broken = json.Unmarshal(body, &page)
			return broken == nil
		})
		if err = errors.Join(err, broken); err != nil {
			return f, err
		}
		for _, q := range page.Queues {
			if !strings.Contains(q.Name, "dlq") && !strings.Contains(q.Name, "dead") {
				continue
			}
			stored := q.Visible + q.InFlight + q.Delayed + q.Deferred
			if f.none, f.value = "", f.value+float64(stored); stored > most {
				most, f.of = stored, "most in "+q.Name
			}
		}
		if next = page.Next; next == "" {
			return f, nil
		}
	}
}
