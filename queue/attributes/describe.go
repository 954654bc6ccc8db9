package attributes

// DescribeTopics describes the attributes of a topic that can be set, by name.
func DescribeTopics() []Described { return describe(topicTable, DefaultTopic(true)) }

// DescribeSubscriptions describes the attributes of a subscription that can be set, by name.
func DescribeSubscriptions() []Described { return describe(subscriptionTable, Subscription{}) }

func describe[T any](rows settables[T], unset T) (list []Described) {
	for i := range rows {
		r := &rows[i]
		if r.readOnly {
			continue
		}
		d := Described{Name: r.name, FIFO: r.fifoOnly, Fixed: r.fixed, Values: r.takes.values(), Since: r.since}
		d.Default, _ = r.print(&unset)
		list = append(list, d)
	}
	return list
}
