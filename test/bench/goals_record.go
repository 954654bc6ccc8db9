package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Rules of a finding.
const (
	most  = "most"  // the median must not be above the limit
	least = "least" // the median must not be below the limit
	worst = "worst" // no value may be above the limit
)

// finding is one figure, measured once or more often.
type finding struct {
	What   string    `json:"what"`
	Values []float64 `json:"values"` // sorted
	Unit   string    `json:"unit,omitempty"`
	Limit  float64   `json:"limit,omitempty"`
	Rule   string    `json:"rule,omitempty"` // empty: no goal
}

// value returns the value that the rule compares.
func (f finding) value() float64 {
	if len(f.Values) == 0 {
		return math.NaN()
	}
	if f.Rule == worst {
		return f.Values[len(f.Values)-1]
	}
	return median(f.Values)
}

func (f finding) text() string {
	if len(f.Values) == 0 {
		return "no figure"
	}
	if f.Rule == worst {
		return strconv.FormatFloat(f.value(), 'f', digits(f.value()), 64)
	}
	return spread(f.Values, digits(median(f.Values)))
}

// reached compares a finding with its limit. A miss on a busy machine does not count.
func (f finding) reached(busy bool) string {
	switch {
	case f.Rule == "":
		return ""
	case len(f.Values) == 0:
		return "not measured"
	case f.Rule == least && f.value() >= f.Limit, f.Rule != least && f.value() <= f.Limit:
		return "yes"
	case busy:
		return "not here"
	}
	return "no"
}

func (f finding) limit() string {
	words := map[string]string{most: "at most", least: "at least", worst: "worst at most"}
	if f.Rule == "" {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("%s %.4g %s", words[f.Rule], f.Limit, f.Unit))
}

// section has the results of one scenario, with machine and commit.
type section struct {
	At        time.Time `json:"at"`
	Commit    string    `json:"commit"`
	Processor string    `json:"processor"`
	Others    float64   `json:"others"` // processor time others used just before, in percent
	Scale     float64   `json:"scale"`
	Seconds   float64   `json:"seconds"` // it took
	Problem   string    `json:"problem,omitempty"`
	Findings  []finding `json:"findings"`
}

func newSection(h host, scale float64) section {
	return section{At: h.at, Commit: h.commit, Processor: h.processor, Others: h.others, Scale: scale}
}

func (s section) busy() bool { return s.Others > busyShare }

// readSections reads what earlier runs found; none: nothing.
func readSections(path string) (map[string]section, error) {
	sections := map[string]section{}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return sections, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &sections)
	}
	if err != nil {
		return nil, fmt.Errorf("read the record: %w", err)
	}
	return sections, nil
}

func writeSections(path string, sections map[string]section) error {
	text, err := json.MarshalIndent(sections, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the record: %w", err)
	}
	return writeDocument(path, append(text, '\n'))
}

// writeGoals writes GOALS.md.
func writeGoals(w io.Writer, sections map[string]section) {
	say := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	say("# Measured: states, faults and memory, goals 5 to 10\n")
	say("Written by `make bench-goals`; do not edit. The performance goals have numbers: 5 to 10 are here, 1 to 4 in")
	say("[RESULTS.md](RESULTS.md). Three nodes and the load share one machine and its loopback interface; each section has a fresh")
	say("cluster. A figure measured more than once is the median, in brackets the lowest and the highest; the column Runs says how")
	say("often. SQS JSON over HTTP/1.1, bodies of 256 bytes unless said, every answer after the sync on a majority.")
	say("Each server has its part of the processors, as `seriatim dev --nodes 3` gives it; sections from before " +
		"04:00 UTC on 2026-11-22 had all.\n")
	say("| Goal | What | Figures that reach it | Measured at |\n| --- | --- | --- | --- |")
	for _, sc := range scenarios() {
		say("| %s | %s | %s |", sc.numberText(), sc.name, sections[sc.name].summary(sc))
	}
	for _, sc := range scenarios() {
		got, measured := sections[sc.name]
		if !measured {
			continue
		}
		say("\n## Goal %s: %s\n\nGoal: %s.\n", sc.numberText(), sc.name, sc.goal)
		say("`make bench-goals BENCH_SCALE=%g GOALS=%s` on %s, commit %s, %s; others used %.0f %% of the processors "+
			"before; it took %.0f s.",
			got.Scale, sc.only(), got.At.Format("2006-01-02 15:04 UTC"), got.Commit, got.Processor, got.Others, got.Seconds)
		if got.Scale != 1 {
			say("\n**The numbers of ids, messages, queues, kills and consumers are %g of those in the goal.**", got.Scale)
		}
		if got.busy() {
			say("\n**The machine was busy with other work: rates and latencies say nothing about the goal.**")
		}
		if got.Problem != "" {
			say("\n**It did not come to its end: %s**", oneLine(got.Problem))
		}
		if len(got.Findings) == 0 {
			continue
		}
		say("\n| | Measured | Runs | Goal | Reached |\n| --- | --- | --- | --- | --- |")
		for _, f := range got.Findings {
			say("| %s | %s | %d | %s | %s |", f.What, strings.TrimSpace(f.text()+" "+f.Unit), len(f.Values), f.limit(),
				f.reached(got.busy()))
		}
	}
}

// summary returns the last two cells of a scenario's line.
func (s section) summary(sc scenario) string {
	if s.At.IsZero() {
		return "not measured: `make bench-goals BENCH_SCALE=1 GOALS=" + sc.only() + "` | "
	}
	all := slices.DeleteFunc(slices.Clone(s.Findings), func(f finding) bool { return f.Rule == "" })
	missed := []string{}
	for _, f := range all {
		if f.reached(s.busy()) != "yes" {
			missed = append(missed, f.What)
		}
	}
	text := fmt.Sprintf("%d of %d", len(all)-len(missed), len(all))
	if len(missed) > 0 {
		text += "; missed: " + strings.Join(missed, ", ")
	}
	if s.Problem != "" {
		text += "; **did not come to its end**"
	}
	return fmt.Sprintf("%s | %g of the numbers, %s", text, s.Scale, s.At.Format("2006-01-02"))
}

// numberText returns the numbers of the goals as text.
func (sc scenario) numberText() string {
	var parts []string
	for _, n := range sc.numbers {
		parts = append(parts, strconv.Itoa(n))
	}
	return strings.Join(parts, " and ")
}

// only returns the argument that selects only this scenario.
func (sc scenario) only() string {
	for _, other := range scenarios() {
		if other.name != sc.name && slices.Contains(other.numbers, sc.numbers[0]) {
			first, _, _ := strings.Cut(sc.name, " ")
			return first
		}
	}
	return strconv.Itoa(sc.numbers[0])
}

// digits formats a value with as many digits as are significant.
func digits(v float64) int {
	switch {
	case v == float64(int64(v)) || v >= 1000:
		return 0
	case v >= 10:
		return 1
	default:
		return 2
	}
}
