package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// made is a run as it is kept for good, whatever came out of it: the documents show the
// newest figures, and beside them all that was ever measured here.
type made struct {
	Document string    `json:"document"` // in which it is shown
	What     string    `json:"what"`
	At       time.Time `json:"at"`
	Commit   string    `json:"commit"`
	Others   float64   `json:"others"` // processor time others used before, in percent
	Figures  []string  `json:"figures"`
	Problem  string    `json:"problem,omitempty"`
}

// runsRecord is the file of all runs. Lines are only ever added.
func runsRecord(document string) string {
	return filepath.Join(filepath.Dir(document), "results", "runs.jsonl")
}

// keep adds a run to the record, unless it is there, and returns all of its document.
func keep(document string, m made) ([]made, error) {
	path := runsRecord(document)
	m.Document = filepath.Base(document)
	all, err := runsOf(path)
	if err != nil {
		return nil, err
	}
	of := slices.DeleteFunc(slices.Clone(all), func(o made) bool { return o.Document != m.Document })
	if slices.ContainsFunc(of, func(o made) bool { return o.What == m.What && o.At.Equal(m.At) }) {
		return of, nil
	}
	line, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode a run: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // documents
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // documents
	if err != nil {
		return nil, fmt.Errorf("keep a run: %w", err)
	}
	_, err = file.Write(append(line, '\n'))
	return append(of, m), errors.Join(err, file.Close())
}

func runsOf(path string) ([]made, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the runs: %w", err)
	}
	var all []made
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m made
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return nil, fmt.Errorf("read the runs, line %d: %w", len(all)+1, err)
		}
		all = append(all, m)
	}
	return all, lines.Err()
}

// writeRuns writes the table of all runs of a document.
func writeRuns(w io.Writer, all []made) {
	if len(all) == 0 {
		return
	}
	say := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	say("\n## All runs\n\nEvery run since this table was begun is listed, good or bad; none is left out.\n")
	say("| Measured at | Commit | Others used | What | Figures |\n| --- | --- | --- | --- | --- |")
	for _, m := range all {
		figures := strings.Join(m.Figures, "; ")
		if m.Problem != "" {
			figures += "; **" + oneLine(m.Problem) + "**"
		}
		say("| %s | %s | %.0f %% | %s | %s |", m.At.Format("2006-01-02 15:04 UTC"), m.Commit, m.Others, m.What, figures)
	}
}

// made is the section as a run.
func (s section) made(name string) made {
	m := made{What: fmt.Sprintf("%s, %g of the numbers", name, s.Scale), At: s.At, Commit: s.Commit, Others: s.Others, Problem: s.Problem}
	for _, f := range s.Findings {
		if f.Rule != "" {
			m.Figures = append(m.Figures, strings.TrimSpace(f.What+" "+f.text()+" "+f.Unit))
		}
	}
	return m
}

// made are the results of make bench as a run.
func (r *results) made() made {
	m := made{What: fmt.Sprintf("median of %d runs", r.runs), At: r.host.at, Commit: r.host.commit, Others: r.host.others}
	for i, w := range r.list {
		if len(r.measured[i]) == 0 {
			m.Figures = append(m.Figures, w.name+" not measured")
			continue
		}
		var rates runs
		for _, x := range r.measured[i] {
			rates = append(rates, x.MessagesPerSecond)
		}
		m.Figures = append(m.Figures, fmt.Sprintf("%s %.0f/s", w.name, median(rates)))
	}
	m.Problem = strings.Join(problemTexts(r.problems), ", ")
	return m
}

func problemTexts(problems []error) (texts []string) {
	for _, err := range problems {
		if err != nil {
			texts = append(texts, oneLine(err.Error()))
		}
	}
	return texts
}

// made is the comparison as a run: for each queue the ratio of each workload.
func (r *peersRecord) made(h host) made {
	m := made{What: fmt.Sprintf("ratios, %d rounds of %.0f s", r.Rounds, r.Seconds), At: r.At, Commit: h.commit, Others: r.Others}
	rates := func(workload, queue int) (list runs) {
		if queue >= len(r.Measured[workload]) {
			return nil
		}
		for _, run := range r.Measured[workload][queue].Runs {
			list = append(list, run.Rate)
		}
		return list
	}
	for q := 1; q < len(r.Queues); q++ {
		var ratios []string
		for w := range r.Workloads {
			ours, theirs := rates(w, 0), rates(w, q)
			if len(ours) == 0 || len(theirs) == 0 {
				ratios = append(ratios, "-")
				continue
			}
			ratios = append(ratios, fmt.Sprintf("%.2f", median(ours)/median(theirs)))
		}
		m.Figures = append(m.Figures, r.Queues[q].Name+" "+strings.Join(ratios, " "))
	}
	return m
}
