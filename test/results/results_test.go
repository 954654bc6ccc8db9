package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

func TestPages(t *testing.T) {
	all, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	files, err := pages(root, all)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, folder, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s/%s differs from the records: run make results (%v)", folder, name, err)
		}
	}
	left, err := os.ReadDir(filepath.Join(root, folder))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range left {
		if files[entry.Name()] == nil {
			t.Errorf("%s/%s comes from no record", folder, entry.Name())
		}
	}
	for i, l := range all {
		if l.Part == "" || l.Commit == "" || l.At == "" || l.Machine == "" || l.Workload == "" {
			t.Errorf("record %d lacks its part, commit, time, machine or workload: %+v", i, l)
		}
	}
}

var (
	workload = regexp.MustCompile(`\bof \d+ [KM]iB\b`)
	cites    = regexp.MustCompile(`results/(performance|faults)\.md`)
	quantity = regexp.MustCompile(`(\d[\d,]*(?:\.\d+)?) ?(MB a second|MB/s|a second|us|ms|seconds|s|bytes|B|KiB|kB|MB|MiB|GB|/s|times)\b|(\d[\d,]*(?:\.\d+)?) ?%`)
)

// scale converts units of one kind into each other.
var scale = map[string]struct {
	kind   string
	factor float64
}{
	"us": {"time", 1e-6}, "ms": {"time", 1e-3}, "s": {"time", 1},
	"B": {"size", 1}, "kB": {"size", 1e3}, "KiB": {"size", 1024}, "MB": {"size", 1e6}, "MiB": {"size", 1 << 20}, "GB": {"size", 1e9},
	"seconds": {"time", 1}, "bytes": {"size", 1}, "%": {"part", 1}, "/s": {"rate", 1}, "a second": {"rate", 1},
	"MB/s": {"bytes", 1}, "MB a second": {"bytes", 1}, "times": {"", 1}, "": {"", 1},
}

// TestCitedFigures checks that a paragraph, item or row of another document that links to a page of
// results cites only figures of the records, exactly or rounded.
func TestCitedFigures(t *testing.T) {
	all, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	var documents []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, found...)
	}
	for _, name := range documents {
		if strings.HasPrefix(name, filepath.Join(root, folder)) {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range foreign(string(data), all) {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

// foreign lists the figures near a link to results that no record contains.
func foreign(text string, all []line) []string {
	var problems []string
	for _, block := range regexp.MustCompile(`\n\s*\n|\n(?:[-*|]|\d+\.)`).Split(text, -1) {
		if !cites.MatchString(block) {
			continue
		}
		// "A body of 1 MiB" describes the workload.
		for _, m := range quantity.FindAllStringSubmatch(workload.ReplaceAllString(block, ""), -1) {
			digits, unit := m[1], m[2]
			if digits == "" {
				digits, unit = m[3], "%"
			}
			if !held(digits, unit, all) {
				problems = append(problems, fmt.Sprintf("no record holds %s %s", digits, unit))
			}
		}
	}
	return problems
}

// held reports whether a figure of the records, rounded to as many digits, equals this quantity.
func held(digits, unit string, all []line) bool {
	digits = strings.ReplaceAll(digits, ",", "")
	cited, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return false
	}
	significant := len(strings.TrimLeft(strings.ReplaceAll(digits, ".", ""), "0"))
	if !strings.Contains(digits, ".") {
		significant = max(1, len(strings.TrimRight(digits, "0")))
	}
	to := scale[unit]
	for _, l := range all {
		for _, f := range l.Figures {
			from := scale[f.Unit]
			if from.kind != to.kind {
				continue
			}
			for _, v := range []float64{f.Value, f.Low, f.High} {
				v *= from.factor / to.factor
				if cited == 0 && v == 0 || v > 0 && rounded(v, significant) == rounded(cited, significant) {
					return true
				}
			}
		}
	}
	return false
}

func rounded(v float64, significant int) string {
	if v == 0 {
		return "0"
	}
	size := math.Pow(10, float64(significant-1)-math.Floor(math.Log10(v)))
	return strconv.FormatFloat(math.Round(v*size)/size, 'g', significant, 64)
}

func TestForeignFigures(t *testing.T) {
	all := []line{{Figures: []figure{{Value: 52.3, High: 163.6, Unit: "ms"}, {Value: 21749, Unit: "/s"}}}}
	for text, want := range map[string]int{
		"about 50 ms ([results](docs/results/performance.md))":          0,
		"0.164 s, 21,749 /s ([results](../results/performance.md))":     0,
		"60 ms ([results](../results/performance.md))":                  1,
		"60 ms\n\nand [results](../results/faults.md) elsewhere":        0,
		"- 60 ms here\n- [results](../results/faults.md), 22,000 /s":    0,
		"| 3 % | [results](../results/faults.md) |\n| 52 ms | none |\n": 1,
	} {
		if got := foreign(text, all); len(got) != want {
			t.Errorf("%q: %q, want %d problems", text, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1: "1", 1.234: "1.23", 12.34: "12.3", 163.6: "164", 1234567: "1,234,567",
		21749.2: "21,749"} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %s, want %s", v, got, want)
		}
	}
	f := of("x", "ms", []float64{3, 1, 2})
	if f.String() != "2 (1 to 3) ms" {
		t.Error(f.String())
	}
}
