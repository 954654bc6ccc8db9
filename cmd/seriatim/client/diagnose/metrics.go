package diagnose

import (
	"strconv"
	"strings"
)

// series is one line of the metrics of a node.
type series struct {
	name   string
	labels string // as they stand between the braces
	value  float64
}

// label is the value of a label, empty if there is none. Names of queues, nodes and
// ports need no escapes.
func (s series) label(name string) string {
	_, rest, _ := strings.Cut(","+s.labels, ","+name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// parse reads metrics in the text format of Prometheus; what it cannot read it leaves
// out.
func parse(text string) (list []series) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		key, number, _ := strings.Cut(line, " ")
		if at := strings.LastIndexByte(line, '}'); at >= 0 {
			key, number = line[:at+1], strings.TrimSpace(line[at+1:])
		}
		value, err := strconv.ParseFloat(number, 64)
		if err != nil {
			continue
		}
		name, labels, _ := strings.Cut(strings.TrimSuffix(key, "}"), "{")
		list = append(list, series{name, labels, value})
	}
	return list
}
