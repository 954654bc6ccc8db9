package attributes

import (
	"strconv"

	"github.com/seriatimq/seriatim/queue/policy"
)

// What attributes of queues and topics lose when their values become lower.
const (
	losesIDs      = "older deduplication ids are forgotten at once, and can be sent again"
	losesMessages = "older messages are deleted at once"
	losesArchive  = "older messages of the archive are deleted, and cannot be replayed"
)

// Described describes an attribute that can be set.
type Described struct {
	Name      string
	FIFO      bool     // only FIFO queues or topics have it
	Fixed     bool     // it can be given at creation only
	Extension bool     // AWS has none of this name, and it is listed once it was set
	Values    string   // that it takes
	Words     []string // the only values that it takes; empty: there are too many to list
	Default   string   // empty: none
	Since     uint32   // the format version that it came with
	Does      string
	Loses     string // what is lost when the value becomes lower; empty: nothing
}

// Loss returns what a change of the value loses, empty for nothing.
func (d *Described) Loss(have, want string) string {
	from, had := amount(have)
	to, wanted := amount(want)
	if had && wanted && to < from {
		return d.Loses
	}
	return ""
}

// amount returns the number in a value, or the days of an archive. No archive and an invalid value have
// none.
func amount(value string) (n int64, valid bool) {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		return n, true
	}
	archive, reason := policy.ParseArchive(value)
	return archive.Days, reason == ""
}

// Describe describes the attributes of a queue, by name.
func Describe() []Described { return describe(queueTable, Default(true)) }

// DescribeTopics describes the attributes of a topic, by name.
func DescribeTopics() []Described { return describe(topicTable, DefaultTopic(true)) }

// DescribeSubscriptions describes the attributes of a subscription, by name.
func DescribeSubscriptions() []Described { return describe(subscriptionTable, Subscription{}) }

func describe[T any](t *table[T], unset T) (list []Described) {
	for i := range t.rows {
		r := &t.rows[i]
		if r.readOnly {
			continue
		}
		d := Described{
			Name: r.name, FIFO: r.kind != onAny, Fixed: r.fixed, Extension: r.extension != 0,
			Values: r.takes.values(), Words: r.takes.choices(), Since: r.since, Does: r.does, Loses: r.loses,
		}
		if r.name != NameFIFO && r.name != NameFIFOTopic { // the name is the default
			d.Default, _ = r.print(&unset)
		}
		list = append(list, d)
	}
	return list
}

// Unlisted returns the extension attributes that a queue has and does not list, because they were
// never set, with their defaults.
func Unlisted(fifo bool, listed map[string]string) map[string]string {
	left := map[string]string{}
	for _, d := range describe(queueTable, Default(fifo)) {
		if _, found := listed[d.Name]; !found && d.Extension && (fifo || !d.FIFO) {
			left[d.Name] = d.Default
		}
	}
	return left
}
