package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A line is one workload or fault of one run.
type line struct {
	Part     string   `json:"part"`
	Commit   string   `json:"commit"`
	At       string   `json:"at"`
	Machine  string   `json:"machine"`
	Workload string   `json:"workload"`
	System   string   `json:"system,omitempty"`
	Command  string   `json:"command,omitempty"`
	Verdict  string   `json:"verdict,omitempty"`
	Figures  []figure `json:"figures"`
}

// A figure is the median of several runs, with the lowest and the highest.
type figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Low   float64 `json:"low,omitempty"`
	High  float64 `json:"high,omitempty"`
	Unit  string  `json:"unit,omitempty"`
	Runs  int     `json:"runs,omitempty"`
	Goal  string  `json:"goal,omitempty"`
	// Missed means that the goal was not reached.
	Missed bool `json:"missed,omitempty"`
}

func (l line) figure(name string) (figure, bool) {
	i := slices.IndexFunc(l.Figures, func(f figure) bool { return f.Name == name })
	if i < 0 {
		return figure{}, false
	}
	return l.Figures[i], true
}

// number writes a value with three significant digits, or all digits of a count.
func number(v float64) string {
	switch {
	case v == float64(int64(v)) || v >= 1000:
		return grouped(strconv.FormatFloat(v, 'f', 0, 64))
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// grouped separates thousands: 12345 is 12,345.
func grouped(digits string) string {
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func (f figure) String() string {
	text := number(f.Value)
	if f.Runs > 1 {
		text += " (" + number(f.Low) + " to " + number(f.High) + ")"
	}
	if f.Unit == "%" {
		return text + " %"
	}
	return strings.TrimSpace(text + " " + f.Unit)
}

// of returns the figure of the measured values. The median of an even number of values is the lower
// one of the two in the middle.
func of(name, unit string, values []float64) figure {
	v := slices.Sorted(slices.Values(values))
	return figure{Name: name, Unit: unit, Value: v[(len(v)-1)/2], Low: v[0], High: v[len(v)-1], Runs: len(v)}
}

// load reads all records of the project below root.
func load(root string) ([]line, error) {
	all, err := loadLines(filepath.Join(root, "test/results/record.jsonl"))
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(root, "test/bench/results")
	for _, part := range []string{"peers", "disks", "streams", "links"} {
		found, err := loadPeers(filepath.Join(folder, part+".json"), part)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	goals, err := loadGoals(filepath.Join(folder, "goals.json"))
	return append(all, goals...), err
}

func loadLines(path string) ([]line, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []line
	scan := bufio.NewScanner(bytes.NewReader(data))
	scan.Buffer(nil, len(data)+1)
	for scan.Scan() {
		var l line
		read := json.NewDecoder(bytes.NewReader(scan.Bytes()))
		read.DisallowUnknownFields()
		if err := read.Decode(&l); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, len(all)+1, err)
		}
		all = append(all, l)
	}
	return all, scan.Err()
}

const benchMachine = "2 CPUs"

// loadPeers reads what `make bench-peers`, `make bench-streams` and `make bench-links` write.
func loadPeers(path, part string) ([]line, error) {
	var record struct {
		At     time.Time
		DiskMs float64
		Queues []struct{ Name, Version string }

		Workloads []struct {
			Name string
			Ours []string
		}
		Measured [][]struct {
			Runs []struct{ Rate, P50Ms, P99Ms, ServerUs float64 }
		}
	}
	if err := readJSON(path, &record); err != nil {
		return nil, err
	}
	commit := ""
	for _, q := range record.Queues {
		if q.Name == "seriatim" {
			commit, _, _ = strings.Cut(q.Version, " ")
		}
	}
	var all []line
	for i, w := range record.Workloads {
		own := 0.0
		for j, m := range record.Measured[i] {
			if len(m.Runs) == 0 || strings.HasPrefix(record.Queues[j].Name, "syncs and hops") {
				continue
			}
			var rate, p50, p99, servers []float64
			for _, r := range m.Runs {
				rate, p50, p99 = append(rate, r.Rate), append(p50, r.P50Ms), append(p99, r.P99Ms)
				servers = append(servers, r.ServerUs)
			}
			l := line{Part: part, Commit: commit, At: record.At.Format(time.RFC3339), Machine: benchMachine, Workload: w.Name,
				System: record.Queues[j].Name}
			l.Figures = []figure{of("messages", "/s", rate), of("p50", "ms", p50), of("p99", "ms", p99), of("servers", "", servers)}
			if l.System == "seriatim" {
				own = l.Figures[0].Value
			} else if own > 0 {
				l.Figures = append(l.Figures, figure{Name: "ratio", Value: own / l.Figures[0].Value})
			}
			if l.System == "seriatim" {
				l.Command = "seriatim bench " + strings.Join(w.Ours, " ")
			}
			all = append(all, l)
		}
	}
	return all, nil
}

// loadGoals reads what `make bench-goals` writes.
func loadGoals(path string) ([]line, error) {
	var record map[string]struct {
		At        time.Time
		Commit    string
		Processor string
		Findings  []struct {
			What, Unit, Rule string
			Values           []float64
			Limit            float64
		}
	}
	if err := readJSON(path, &record); err != nil {
		return nil, err
	}
	var all []line
	for name, goal := range record {
		l := line{Part: "goals", Commit: goal.Commit, At: goal.At.Format(time.RFC3339), Machine: goal.Processor + ", " + benchMachine,
			Workload: name}
		l.Command = "make bench-goals BENCH_SCALE=1 GOALS='" + name + "'"
		for _, found := range goal.Findings {
			if len(found.Values) == 0 {
				continue
			}
			f := of(found.What, found.Unit, found.Values)
			limit := strings.TrimSpace(number(found.Limit) + " " + found.Unit)
			switch found.Rule {
			case "most":
				f.Goal, f.Missed = "at most "+limit, f.Value > found.Limit
			case "least":
				f.Goal, f.Missed = "at least "+limit, f.Value < found.Limit
			case "worst":
				f.Goal, f.Missed = "worst at most "+limit, f.High > found.Limit
			}
			l.Figures = append(l.Figures, f)
		}
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b line) int { return strings.Compare(a.Workload, b.Workload) })
	return all, nil
}

func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
