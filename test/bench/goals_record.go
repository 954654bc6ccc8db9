package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
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

// reached compares a finding with its limit.
func (f finding) reached() string {
	switch {
	case f.Rule == "":
		return ""
	case len(f.Values) == 0:
		return "not measured"
	case f.Rule == least && f.value() >= f.Limit, f.Rule != least && f.value() <= f.Limit:
		return "yes"
	}
	return "no"
}

// section has the results of one scenario, with machine and commit.
type section struct {
	At        time.Time `json:"at"`
	Commit    string    `json:"commit"`
	Processor string    `json:"processor"`
	Scale     float64   `json:"scale"`
	Seconds   float64   `json:"seconds"` // it took
	Problem   string    `json:"problem,omitempty"`
	Findings  []finding `json:"findings"`
}

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
	return os.WriteFile(path, append(text, '\n'), 0o644) //nolint:gosec // a record to be read by all
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
