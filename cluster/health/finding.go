package health

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Level says how bad a value is. The numbers are exit codes, as monitoring systems in the
// tradition of Nagios expect them.
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

// MarshalText writes the name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads a name. One that this program does not know is Unknown.
func (l *Level) UnmarshalText(text []byte) error {
	*l = Unknown
	if i := slices.Index(levelNames[:], string(text)); i >= 0 {
		*l = Level(i)
	}
	return nil
}

// Worse is the worse of two levels. An unknown value may be as bad as can be, but one that
// is known to be critical comes first.
func Worse(a, b Level) Level {
	if rank(b) > rank(a) {
		return b
	}
	return a
}

func rank(l Level) int { return [...]int{OK: 0, Warning: 1, Unknown: 2, Critical: 3}[l] }

// Finding is the value that a check measured, of one node or of the state that all nodes
// have. Its JSON form is a contract with other programs and between nodes.
type Finding struct {
	Check string  `json:"check"` // the name of a Check
	Level Level   `json:"level"` // by the thresholds of the Check
	Node  string  `json:"node,omitempty"`
	Of    string  `json:"of,omitempty"` // the queue, topic, account, port or member it is about
	Value float64 `json:"value"`        // in the unit of the Check
	Text  string  `json:"text"`         // for people, with the name of what it is about
}

// Found makes a Finding. The check must be one of the table.
func Found(check, of string, value float64, format string, args ...any) Finding {
	c, known := Named(check)
	if !known {
		panic("no check is called " + check)
	}
	return Finding{Check: check, Level: c.Level(value, c.Warn, c.Crit), Of: of, Value: value, Text: fmt.Sprintf(format, args...)}
}

// Sentence is the finding with its node.
func (f Finding) Sentence() string {
	if f.Node == "" {
		return f.Text
	}
	return f.Node + ": " + f.Text
}

// Problems are the findings that are not OK, the worst first.
func Problems(list []Finding) []Finding {
	bad := slices.DeleteFunc(slices.Clone(list), func(f Finding) bool { return f.Level == OK })
	slices.SortStableFunc(bad, func(a, b Finding) int { return cmp.Compare(rank(b.Level), rank(a.Level)) })
	return bad
}

// Sentences are the problems as people read them, the worst first. What keeps the cluster
// from surviving a failure is not among them: the summary of the members says it.
func Sentences(list []Finding) []string {
	texts := []string{}
	for _, f := range Problems(list) {
		if f.Check != Quorum {
			texts = append(texts, f.Sentence())
		}
	}
	return texts
}

// CriticalChecks are the names of the checks that are critical, each once.
func CriticalChecks(list []Finding) (names []string) {
	for _, f := range list {
		if f.Level == Critical && !slices.Contains(names, f.Check) {
			names = append(names, f.Check)
		}
	}
	return names
}

// Worst are the worst of a list by value, at most so many.
func Worst(list []Finding, most int) []Finding {
	slices.SortStableFunc(list, func(a, b Finding) int { return cmp.Compare(b.Value, a.Value) })
	return list[:min(most, len(list))]
}

// Bytes shows a number of bytes with a binary unit.
func Bytes(n uint64) string {
	units := [...]string{"B", "KiB", "MiB", "GiB", "TiB"}
	value, unit := float64(n), 0
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	text := fmt.Sprintf("%.1f", value)
	return strings.TrimSuffix(text, ".0") + " " + units[unit]
}
