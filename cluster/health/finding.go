package health

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Level is the severity of a value. The numbers are exit codes for Nagios-compatible monitoring.
type Level int

// Levels.
const (
	OK Level = iota
	Warning
	Critical
	Unknown
)

var levelNames = [...]string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}

// String returns the name of the level.
func (l Level) String() string { return levelNames[l] }

// MarshalText returns the name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads a name. Any other text is Unknown.
func (l *Level) UnmarshalText(text []byte) error {
	*l = Unknown
	if i := slices.Index(levelNames[:], string(text)); i >= 0 {
		*l = Level(i)
	}
	return nil
}

// Worse returns the worse of two levels. Unknown is worse than Warning and better than Critical.
func Worse(a, b Level) Level {
	if rank(b) > rank(a) {
		return b
	}
	return a
}

func rank(l Level) int { return [...]int{OK: 0, Warning: 1, Unknown: 2, Critical: 3}[l] }

// Finding is the measured value of a check, of one node or of the replicated state. Its JSON form
// is a contract with other programs and between nodes.
type Finding struct {
	Check string  `json:"check"` // the name of a Check
	Level Level   `json:"level"` // by the thresholds of the Check
	Node  string  `json:"node,omitempty"`
	Of    string  `json:"of,omitempty"` // the queue, topic, account, port or member
	Value float64 `json:"value"`        // in the unit of the Check
	Text  string  `json:"text"`         // readable, includes the name in Of
}

// Found returns a Finding. It panics unless the check is in the table.
func Found(check, of string, value float64, format string, args ...any) Finding {
	c, known := Named(check)
	if !known {
		panic("no check is called " + check)
	}
	return Finding{Check: check, Level: c.Level(value, c.Warn, c.Crit), Of: of, Value: value, Text: fmt.Sprintf(format, args...)}
}

// Sentence returns the text, preceded by the node.
func (f Finding) Sentence() string {
	if f.Node == "" {
		return f.Text
	}
	return f.Node + ": " + f.Text
}

// Problems returns the findings that are not OK, the worst first.
func Problems(list []Finding) []Finding {
	bad := slices.DeleteFunc(slices.Clone(list), func(f Finding) bool { return f.Level == OK })
	slices.SortStableFunc(bad, func(a, b Finding) int { return cmp.Compare(rank(b.Level), rank(a.Level)) })
	return bad
}

// Sentences returns the problems as text, the worst first, without those of Quorum, which the
// summary of the members covers.
func Sentences(list []Finding) []string {
	texts := []string{}
	for _, f := range Problems(list) {
		if f.Check != Quorum {
			texts = append(texts, f.Sentence())
		}
	}
	return texts
}

// CriticalChecks returns the names of critical checks, without duplicates.
func CriticalChecks(list []Finding) (names []string) {
	for _, f := range list {
		if f.Level == Critical && !slices.Contains(names, f.Check) {
			names = append(names, f.Check)
		}
	}
	return names
}

// Worst returns the most findings with the highest values.
func Worst(list []Finding, most int) []Finding {
	slices.SortStableFunc(list, func(a, b Finding) int { return cmp.Compare(b.Value, a.Value) })
	return list[:min(most, len(list))]
}

// Bytes formats a number of bytes with a binary unit.
func Bytes(n uint64) string {
	units := [...]string{"B", "KiB", "MiB", "GiB", "TiB"}
	value, unit := float64(n), 0
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	text := fmt.Sprintf("%.1f", value)
	return strings.TrimSuffix(text, ".0") + " " + units[unit]
}
