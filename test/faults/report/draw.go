// Package report draws a fault run as one page that loads nothing from elsewhere.
package report

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/test/oracle/check"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// page is the input of the template.
type page struct {
	Verdict    string
	Rules      history.Rules
	Pictures   []picture
	Lanes      picture
	Usages     []picture
	Invariants []invariant
	Able       []history.Event
	Violations []drawnViolation
	Short      []string
	Minimums   []check.Minimum
	Gaps       []gap
	Recoveries []Recovery
	Rows       []row
}

// invariant is the verdict on one invariant.
type invariant struct {
	Name, Verdict string
	Count         int
}

type row struct {
	Name  string
	Count int
}

// drawnViolation is a violation with a drawing of the calls around it.
type drawnViolation struct {
	check.Violation
	Around picture
}

// violationsDrawn bounds the violations that are drawn, as one cause makes many.
const violationsDrawn = 20

// Draw writes the report of a run as one page that loads nothing from elsewhere.
func Draw(w io.Writer, events []history.Event, judged check.Report) error {
	p := page{
		Verdict: judged.Verdict(), Short: judged.Short, Minimums: judged.Minimums(),
		Gaps: gaps(events), Recoveries: Recoveries(events), Invariants: verdicts(judged),
	}
	nodes := map[string]bool{}
	for _, e := range events {
		switch e.Kind {
		case history.KindRun:
			if e.Rules != nil {
				p.Rules = *e.Rules
			}
		case history.KindAble:
			p.Able = append(p.Able, e)
		case history.KindOp:
			nodes[e.Node] = e.Node != ""
		default: // drawn by its own function, or not at all
		}
	}
	p.Pictures = append(p.Pictures, latencies(events, ""), rates(events))
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		if node != "" {
			p.Pictures = append(p.Pictures, latencies(events, node))
		}
	}
	p.Lanes, p.Usages = lanes(events), allUsages(events)
	for i, v := range judged.Violations {
		t := drawnViolation{Violation: v}
		if i < violationsDrawn && v.At > 0 {
			t.Around = around(events, v.At)
		}
		p.Violations = append(p.Violations, t)
	}
	for name, count := range judged.Counts {
		p.Rows = append(p.Rows, row{name, count})
	}
	slices.SortFunc(p.Rows, func(a, b row) int { return cmp.Compare(a.Name, b.Name) })
	if err := template.Must(template.New("report").Funcs(template.FuncMap{
		"seconds": func(us int64) string { return fmt.Sprintf("%.2f", float64(us)/1e6) },
		"median":  Median, "worst": Worst,
	}).Parse(layout)).Execute(w, p); err != nil {
		return fmt.Errorf("draw the report: %w", err)
	}
	return nil
}

// verdicts returns one line for each invariant, broken or not.
func verdicts(judged check.Report) []invariant {
	broken := map[string]int{}
	for _, v := range judged.Violations {
		broken[strings.TrimSpace(v.Invariant)]++
	}
	var all []invariant
	for i := range 17 {
		name := fmt.Sprintf("I%d", i+1)
		verdict := "pass"
		switch {
		case broken[name] > 0:
			verdict = "fail"
		case len(judged.Short) > 0:
			verdict = "inconclusive"
		}
		all = append(all, invariant{name, verdict, broken[name]})
	}
	return all
}

const layout = `<!doctype html><meta charset="utf-8"><title>Fault run, seed {{.Rules.Seed}}</title>
<style>body{font:14px sans-serif;margin:2em}svg{background:#fafafa;display:block;margin:.5em 0}table{border-collapse:collapse;margin:.5em 0}
td,th{border:1px solid #ccc;padding:2px 8px;text-align:left}.fail{color:#b00;font-weight:bold}.pass{color:#185}</style>
<h1 class="{{.Verdict}}">{{.Verdict}}</h1>
<p>Seed {{.Rules.Seed}}, profile {{.Rules.Profile}}, commit {{.Rules.Commit}}. Run again: <code>{{.Rules.Command}}</code>; judge and draw
again: <code>make faults-check HISTORY=folder</code>. Nodes: <code>{{.Rules.Settings}}</code></p>
<h2>Invariants</h2><table><tr>{{range .Invariants}}<th>{{.Name}}{{end}}<tr>{{range .Invariants}}<td class="{{.Verdict}}">{{.Verdict}}{{if .Count}} {{.Count}}{{end}}{{end}}</table>
<h2>What this machine and this build can do</h2><table>{{range .Able}}<tr><td>{{.Action}}<td>{{if .Error}}no: {{.Error}}{{else}}yes{{end}}{{end}}</table>
<h2>Latency (1 ms to 10 s), operations per second</h2>
<p>Green: answered. Orange: certainly not done. Red: outcome unknown. Round: send, square: receive, bar: others. Lines: median, 99th part, longest of each second. Bands: faults.</p>
{{range .Pictures}}<h3>{{.Title}}</h3>{{.SVG}}{{end}}
<h2>Roles</h2><p>Blue: leader. Light: follower. Yellow: candidate. Red: no answer. Black: down. A short line: a term began; a long one: a snapshot was installed.</p>{{.Lanes.SVG}}
<h2>What the nodes' processes use</h2>{{range .Usages}}<h3>{{.Title}}</h3>{{.SVG}}{{end}}
<h2>Violations</h2>{{if .Violations}}<table>{{range .Violations}}<tr><td>{{.Invariant}}<td>{{seconds .At}} s<td>{{.Text}}{{if .Around.SVG}}{{.Around.SVG}}{{end}}{{end}}</table>{{else}}<p>None.{{end}}
{{if .Short}}<h2>Not reached</h2><ul>{{range .Short}}<li>{{.}}{{end}}</ul>{{end}}
<h2>Did the run bite</h2><table><tr><th>What<th>Least<th>Was{{range .Minimums}}<tr><td>{{.Name}}<td>{{if .Waived}}not possible here{{else}}{{.Least}}{{end}}<td>{{.Got}}{{end}}</table>
<h2>Time to recover, seconds</h2>
<p>Silent: the longest time without an acknowledged send. Healed: from healing until every node gave service.</p>
<table><tr><th>Fault<th>Times<th>Silent, median<th>Silent, worst<th>Healed, median<th>Healed, worst
{{range .Recoveries}}<tr><td>{{.Fault}}<td>{{len .Silent}}<td>{{seconds (median .Silent)}}<td>{{seconds (worst .Silent)}}<td>{{seconds (median .Healed)}}<td>{{seconds (worst .Healed)}}{{end}}</table>
<h2>Over a second without an acknowledged send</h2>{{if .Gaps}}<table><tr><th>From<th>For<th>During{{range .Gaps}}<tr><td>{{seconds .From}} s<td>{{seconds .Length}} s<td>{{.Faults}}{{end}}</table>{{else}}<p>Never.{{end}}
<h2>Counts</h2><table>{{range .Rows}}<tr><td>{{.Name}}<td>{{.Count}}{{end}}</table>
`
