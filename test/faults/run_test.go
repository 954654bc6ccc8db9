package faults

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/faults/report"
	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/lab/network"
	"github.com/seriatimq/seriatim/test/oracle/check"
	"github.com/seriatimq/seriatim/test/oracle/history"
	"github.com/seriatimq/seriatim/test/oracle/logcheck"
)

var (
	seed      = flag.Uint64("seed", 1, "seed of the schedule and the clients")
	duration  = flag.Duration("duration", 0, "length of the load; 0 is a short run with one kind of fault")
	profile   = flag.String("profile", string(Smoke), "smoke, five, night or soak")
	output    = flag.String("output", "", "folder for histories, taps, logs and reports; empty: a temporary one")
	again     = flag.String("check", "", "judge and draw the history in this folder, or file, instead of making a run")
	hooks     = flag.Bool("hooks", false, "the server is a fault build")
	fixed     = flag.String("scenario", "", "a fixed scenario instead of a profile's schedule; list: what there are")
	without   = flag.String("without", "", "faults that are left out, with commas between them")
	drawn     = flag.String("only", "", "faults that are drawn, with commas between them; empty: all")
	every     = flag.Bool("every", false, "run every fixed scenario")
	keepGoing = flag.Bool("go-on", false, "do not end a soak at the first violation")
	secure    = flag.Bool("tls", false, "the nodes know each other by certificate, which is renewed all the time, and gossip has a key")
	bodies    = flag.String("bodies", "",
		"where the nodes have the bodies of messages: segments or memory; empty: where the product has them")
	parks = flag.String("backlog", "",
		"how much is parked in a queue from before the first fault until after the last, as 2GB or 300MB; empty: nothing")
	commit = flag.String("commit", "", "what is run, for the report")
)

// parseBytes parses a number of bytes, MB or GB, 0 for an empty text.
func parseBytes(text string) (int64, error) {
	number, unit := text, int64(1)
	for suffix, n := range map[string]int64{"MB": 1e6, "GB": 1e9} {
		if before, found := strings.CutSuffix(text, suffix); found {
			number, unit = before, n
		}
	}
	if number == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(number, 10, 64)
	return n * unit, err
}

// TestMain runs the tests in a network of their own, see network.Inside.
func TestMain(m *testing.M) { os.Exit(network.Inside(m.Run)) }

// TestFaults makes a run, or judges a stored one.
func TestFaults(t *testing.T) {
	if *fixed == "list" {
		for _, s := range Scenarios() {
			fmt.Printf("%-45s %s\n", s.Name, s.About)
		}
		return
	}
	dir := *output
	if dir == "" {
		dir = t.TempDir()
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	parts, err := obtain(t, dir)
	var recoveries [][]report.Recovery
	for i, part := range parts {
		if part.Events == nil {
			if part.Events, err = readHistory(part.History); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, fmt.Sprintf("report-%03d.html", i))
		if err := drawTo(path, part.Events, part.Report); err != nil {
			t.Error(err)
		}
		recoveries = append(recoveries, report.Recoveries(part.Events))
		sayTroubled(t, part.Events)
		parts[i].Events = nil
		t.Logf("part %d: %s, %s", i, part.Report.Verdict(), path)
		say(t, part.Report)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(parts) > 1 {
		total := check.Sum(reports(parts))
		t.Logf("all %d parts:", len(parts))
		say(t, total)
	}
	if err := writeSummary(filepath.Join(dir, "summary.md"), parts, report.Merge(recoveries...)); err != nil {
		t.Error(err)
	}
}

// writeSummary writes tables of figures for a text about the run.
func writeSummary(path string, parts []Part, recoveries []report.Recovery) error {
	var b strings.Builder
	total := check.Sum(reports(parts))
	fmt.Fprintf(&b, "%d parts, %d violations, %s\n\n", len(parts), len(total.Violations), total.Verdict())
	for _, v := range total.Violations {
		fmt.Fprintf(&b, "- %s at %.3f s: %s\n", v.Invariant, float64(v.At)/1e6, v.Text)
	}
	for _, short := range total.Short {
		fmt.Fprintf(&b, "- inconclusive: %s\n", short)
	}
	b.WriteString("\n| What | How often |\n|---|---:|\n")
	for _, name := range slices.Sorted(maps.Keys(total.Counts)) {
		fmt.Fprintf(&b, "| %s | %d |\n", name, total.Counts[name])
	}
	b.WriteString("\n| Fault | Times | Silent, median | Silent, worst | Healed, median | Healed, worst |\n|---|---:|---:|---:|---:|---:|\n")
	for _, r := range recoveries {
		fmt.Fprintf(&b, "| %s | %d | %.2f s | %.2f s | %.2f s | %.2f s |\n", r.Fault, len(r.Silent), float64(report.Median(r.Silent))/1e6,
			float64(report.Worst(r.Silent))/1e6,
			float64(report.Median(r.Healed))/1e6, float64(report.Worst(r.Healed))/1e6)
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

// TestScenarios runs every fixed scenario that this machine supports, each on its own cluster. Each
// takes a minute, so it is not part of `make test`.
func TestScenarios(t *testing.T) {
	if !*every {
		t.Log("asked for with -every")
		return
	}
	binary, err := harness.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range Scenarios() {
		t.Run(x.Name, func(t *testing.T) {
			dir := filepath.Join(*output, strings.ReplaceAll(x.Name, " ", "-"))
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			run := Run{Binary: binary, Dir: dir, Seed: *seed, Duration: 100 * time.Second, Profile: Fixed, Scenario: x, Hooks: *hooks,
				TLS: *secure, Bodies: *bodies, Commit: *commit}
			outcome, err := run.Do(t.Context())
			if errors.Is(err, errLacks) {
				t.Logf("not here: %v", err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range outcome.Parts {
				if err := drawTo(filepath.Join(dir, "report.html"), part.Events, part.Report); err != nil {
					t.Error(err)
				}
				sayTroubled(t, part.Events)
				say(t, part.Report)
			}
		})
	}
}

func reports(parts []Part) []check.Report {
	var all []check.Report
	for _, p := range parts {
		all = append(all, p.Report)
	}
	return all
}

// say prints the findings of the checkers. A violation or a missed minimum fails the test.
func say(t *testing.T, r check.Report) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(r.Counts)) {
		t.Logf("%6d %s", r.Counts[name], name)
	}
	for _, v := range r.Violations {
		t.Errorf("%s at %.3f s: %s", v.Invariant, float64(v.At)/1e6, v.Text)
	}
	for _, short := range r.Short {
		t.Errorf("inconclusive: %s", short)
	}
	t.Logf("seed %d: %s", *seed, r.Verdict())
}

// sayTroubled prints the faults that this machine or build does not support, and those that could
// not be injected or not be repaired at once.
func sayTroubled(t *testing.T, events []history.Event) {
	t.Helper()
	for _, e := range events {
		if e.Kind == history.KindAble && e.Error != "" {
			t.Logf("left out, %s: %s", e.Action, e.Error)
		}
		if e.Kind == history.KindFault && e.Error != "" {
			t.Logf("%s at %.1f s, %s: %s", e.Action, float64(e.Call)/1e6, e.Node, strings.ReplaceAll(e.Error, "\n", "; "))
		}
	}
}

func drawTo(path string, events []history.Event, r check.Report) error {
	page, err := os.Create(path)
	if err != nil {
		return err
	}
	defer page.Close()
	if err := report.Draw(page, events, r); err != nil {
		return err
	}
	for name, picture := range report.Pictures(events) {
		if err := os.WriteFile(strings.TrimSuffix(path, ".html")+"-"+name, []byte(picture), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func readHistory(path string) ([]history.Event, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return history.Read(file)
}

// obtain makes a run, or reads a stored one.
func obtain(t *testing.T, dir string) ([]Part, error) {
	if *again != "" {
		return stored(*again)
	}
	binary, err := harness.Build(t.Context(), t.TempDir())
	if err != nil {
		return nil, err
	}
	run := Run{Binary: binary, Dir: dir, Seed: *seed, Duration: *duration, Profile: Profile(*profile), Hooks: *hooks, TLS: *secure,
		Bodies: *bodies, Commit: *commit, KeepGoing: *keepGoing, Without: strings.Split(*without, ",")}
	if *drawn != "" {
		run.Only = strings.Split(*drawn, ",")
	}
	run.Progress = os.Stdout
	if run.Backlog, err = parseBytes(*parks); err != nil {
		return nil, fmt.Errorf("-backlog: %w", err)
	}
	if *fixed != "" {
		if run.Scenario, err = scenario(*fixed); err != nil {
			return nil, err
		}
		run.Profile = Fixed
	}
	if run.Duration == 0 {
		run.Profile, run.Duration = Quick, 8*time.Second
	}
	outcome, err := run.Do(t.Context())
	return outcome.Parts, err
}

// stored judges a history file, or the histories in a run's folder.
func stored(path string) ([]Part, error) {
	files := []string{path}
	if !strings.HasSuffix(path, ".jsonl") {
		var err error
		if files, err = filepath.Glob(filepath.Join(path, "history-*.jsonl")); err != nil || len(files) == 0 {
			return nil, fmt.Errorf("no history in %s (%w)", path, err)
		}
	}
	var w *logcheck.Checker
	if taps, err := filepath.Glob(filepath.Join(path, "taps", "*.jsonl")); err == nil && len(taps) > 0 {
		w = logcheck.New(path)
		defer w.Close()
	}
	var parts []Part
	for _, file := range files {
		events, err := readHistory(file)
		if err != nil {
			return parts, err
		}
		parts = append(parts, Part{History: file, Events: events})
	}
	return parts, judgeParts(w, parts)
}
