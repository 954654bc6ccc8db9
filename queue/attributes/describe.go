package attributes

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
			Values: r.takes.values(), Words: r.takes.choices(), Since: r.since, Does: r.does,
		}
		if r.name != NameFIFO && r.name != nameFIFOTopic { // the name is the default
			d.Default, _ = r.print(&unset)
		}
		list = append(list, d)
	}
	return list
}

// TopicNames returns the names of the attributes of a topic that can be set.
func TopicNames() (names []string) {
	for _, d := range DescribeTopics() {
		names = append(names, d.Name)
	}
	return names
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
