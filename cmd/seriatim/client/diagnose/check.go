// Package diagnose compares the status of all members of a cluster with thresholds (command
// check) and collects the bundle for a bug report (command debug).
package diagnose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/seriatimq/seriatim/cluster/health"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
)

// Nodes gives access to the admin ports of nodes.
type Nodes interface {
	// Addresses returns their addresses.
	Addresses() []string
	// Get sends a GET request to one address.
	Get(ctx context.Context, address, path string) (status int, body []byte, err error)
}

// Member is a member of a cluster.
type Member struct {
	NodeID string
	Name   string
	Admin  string // URL of its admin port
	Asked  bool   // its findings are in the report
}

// Cluster holds the members with their findings, and the findings about the replicated state.
type Cluster struct {
	Members  []Member
	Findings []health.Finding
}

const membersPath = "/v1/cluster/members"

// ErrNobody reports that no node answered.
var ErrNobody = errors.New("no node answers; is --admin right?")

// Ask asks nodes about all members of their cluster until one answers. Without a leader it returns
// the view of one node.
func Ask(ctx context.Context, nodes Nodes) (c Cluster, err error) {
	if c, err = ask(ctx, nodes, membersPath); err == nil {
		return c, nil
	}
	if local, failed := ask(ctx, nodes, membersPath+"?local=true"); failed == nil {
		return local, nil
	}
	return c, err
}

func ask(ctx context.Context, nodes Nodes, path string) (c Cluster, err error) {
	failed := ErrNobody
	for _, address := range nodes.Addresses() {
		status, body, err := nodes.Get(ctx, address, path)
		switch {
		case err != nil:
			failed = fmt.Errorf("%w (%w)", ErrNobody, err)
			continue
		case status != http.StatusOK:
			failed = fmt.Errorf("%s answers %d: %s", address, status, sentence(body))
			continue
		}
		if err := json.Unmarshal(body, &c); err != nil {
			failed = fmt.Errorf("%s: %w", address, err)
			continue
		}
		return c, nil
	}
	return c, failed
}

// silent returns the members without findings.
func (c Cluster) silent() (names []string) {
	for _, m := range c.Members {
		if !m.Asked {
			names = append(names, m.Name)
		}
	}
	return names
}

// Outcome is the result of a check.
type Outcome struct {
	Check string       `json:"check"`
	Level health.Level `json:"level"`
	Value *float64     `json:"value"` // null: nothing was measured
	Unit  string       `json:"unit"`
	Of    string       `json:"of,omitempty"`
	Note  string       `json:"note,omitempty"`
	Warn  float64      `json:"warn"`
	Crit  float64      `json:"crit"`

	measured string // the value with its unit
}

// Line returns the outcome in one line, with value and thresholds behind a bar, as monitoring
// systems expect it.
func (o Outcome) Line() string {
	line := o.Level.String() + " - " + o.Check + ": "
	if o.Value == nil {
		return line + o.Note
	}
	parts := []string{o.measured}
	if o.Of != "" {
		parts[0] += " (" + o.Of + ")"
	}
	if o.Note != "" {
		parts = append(parts, o.Note)
	}
	if o.measured == "" {
		parts = parts[1:]
	}
	return line + strings.Join(parts, "; ") + fmt.Sprintf(" | %s=%.6g;%g;%g", o.Check, *o.Value, o.Warn, o.Crit)
}

// Run compares the findings with thresholds. The first outcome is the worst. The outcomes of other
// findings follow if they are not OK.
func Run(check health.Check, c Cluster, warn, crit float64) []Outcome {
	var bad []Outcome
	var worst *health.Finding
	for i := range c.Findings {
		f := &c.Findings[i]
		if f.Check != check.Name {
			continue
		}
		if worst == nil || worse(check, f.Value, worst.Value) {
			worst = f
		}
	}
	if worst == nil {
		o := Outcome{Check: check.Name, Unit: check.Unit, Note: check.None, Warn: warn, Crit: crit}
		return []Outcome{o.without(check, c)}
	}
	first := outcome(check, *worst, warn, crit).without(check, c)
	if check.Newest {
		return []Outcome{first}
	}
	for i := range c.Findings {
		f := &c.Findings[i]
		if f.Check == check.Name && f != worst && check.Level(f.Value, warn, crit) != health.OK {
			bad = append(bad, outcome(check, *f, warn, crit))
		}
	}
	return append([]Outcome{first}, bad...)
}

// worse reports whether the first value is the worse result of a check.
func worse(check health.Check, a, b float64) bool {
	return (a < b) == (check.Below != check.Newest) && a != b
}

func outcome(check health.Check, f health.Finding, warn, crit float64) Outcome {
	o := Outcome{
		Check: check.Name, Level: check.Level(f.Value, warn, crit), Value: &f.Value, Unit: check.Unit, Warn: warn, Crit: crit,
		Of: strings.TrimPrefix(f.Node+": "+f.Of, ": "),
	}
	o.Of = strings.TrimSuffix(o.Of, ": ")
	switch {
	case check.Plain:
		o.Of, o.Note = "", f.Sentence()
		if o.Level == health.OK && f.Node != "" {
			o.Note = "all members are healthy"
		}
	case check.Name == health.Quorum && f.Value < 0:
		o.measured, o.Note = "no quorum", f.Text
	default:
		o.measured = words(check, f.Value)
		if o.Level != health.OK || o.Of == "" {
			o.Note = f.Text
		}
	}
	return o
}

// without adds the members without findings to a check that measures each node.
func (o Outcome) without(check health.Check, c Cluster) Outcome {
	silent := c.silent()
	if !check.EachNode || len(silent) == 0 {
		return o
	}
	o.Level = health.Worse(o.Level, health.Unknown)
	o.Note = strings.TrimPrefix(o.Note+"; unknown: "+strings.Join(silent, ", "), "; ")
	return o
}

// words formats a value with its unit.
func words(check health.Check, value float64) string {
	if check.Name == health.Quorum && value == 0 {
		return "no node may fail"
	}
	return fmt.Sprintf("%.4g ", value) + plural.Form(value, check.One, check.Unit)
}

// Check asks the nodes and runs one check.
func Check(ctx context.Context, nodes Nodes, check health.Check, warn, crit float64) []Outcome {
	c, err := Ask(ctx, nodes)
	return checked(ctx, c, err, check, warn, crit)
}

// checked runs a check on the answer of the nodes, or on their error.
func checked(ctx context.Context, c Cluster, err error, check health.Check, warn, crit float64) []Outcome {
	unknown := Outcome{Check: check.Name, Level: health.Unknown, Unit: check.Unit, Warn: warn, Crit: crit}
	switch {
	case ctx.Err() != nil: // an incomplete answer may look healthy
		unknown.Note = "interrupted"
	case err != nil:
		unknown.Note = err.Error()
	default:
		return Run(check, c, warn, crit)
	}
	return []Outcome{unknown}
}
