package definitions

import (
	"maps"
	"slices"
	"strconv"
)

// Kind says how an object differs.
type Kind string

// Kinds of differences.
const (
	Add    Kind = "add"    // only the wanted document has it
	Change Kind = "change" // a value differs
	Remove Kind = "remove" // only the present document has it
)

// Difference is one difference between two documents.
type Difference struct {
	Kind   Kind   `json:"kind"`
	Object string `json:"object"`          // such as queue, topic or subscription
	Name   string `json:"name"`            // of the object
	Value  string `json:"value,omitempty"` // name of the attribute, tag or limit; empty: the whole object
	Have   string `json:"have,omitempty"`
	Want   string `json:"want,omitempty"`
}

// Objects of differences.
const (
	queueObject        = "queue"
	topicObject        = "topic"
	subscriptionObject = "subscription"
	accountObject      = "account"
	policyObject       = "user policy"
	keyObject          = "access key"

	tagPrefix  = "tag "
	rulePrefix = "rule "
)

// thing is an object with its values.
type thing struct {
	name   string
	values map[string]string
}

// Compare lists what must change so that have becomes want, by object and name.
func Compare(have, want *Document) (list []Difference) {
	for _, object := range []string{accountObject, queueObject, topicObject, subscriptionObject, policyObject, keyObject} {
		list = append(list, compare(object, have.things(object, have.place), want.things(object, have.place))...)
	}
	return list
}

// things returns the objects of one kind. p is the place of the cluster, for ARNs without variables.
func (d *Document) things(object string, p place) (list []thing) {
	add := func(name string, values, tags map[string]string) {
		all := map[string]string{}
		for key, value := range values {
			all[key] = p.localize(value)
		}
		for key, value := range tags {
			all[tagPrefix+key] = value
		}
		list = append(list, thing{name, all})
	}
	switch object {
	case queueObject:
		for _, q := range d.Queues {
			add(q.Name, q.Attributes, q.Tags)
		}
	case topicObject:
		for _, t := range d.Topics {
			add(t.Name, t.Attributes, t.Tags)
		}
	case subscriptionObject:
		for _, t := range d.Topics {
			for _, s := range t.Subscriptions {
				add(subscriptionName(t.Name, s.subscriber()), s.Attributes, nil)
				for _, r := range s.rules() {
					list[len(list)-1].values[rulePrefix+r.Name] = r.String()
				}
			}
		}
	case accountObject:
		for _, a := range d.Accounts {
			add(a.shown(), a.limits(), nil)
		}
	case policyObject:
		for _, u := range d.Policies {
			add(qualified(u.Account, u.User), map[string]string{"policy": u.Policy}, nil)
		}
	case keyObject:
		for _, k := range d.Keys {
			add(k.ID, map[string]string{"user": qualified(k.Account, k.User), "active": strconv.FormatBool(k.Active)}, nil)
		}
	}
	return list
}

// subscriptionName names a subscription in a difference.
func subscriptionName(topic, subscriber string) string { return topic + " -> " + subscriber }

func qualified(account, name string) string {
	if account == "" {
		return name
	}
	return account + "/" + name
}

// shown returns the id, or a word for the account of the cluster.
func (a *Account) shown() string {
	if a.Own {
		return "of the cluster"
	}
	return a.ID
}

// limits returns the quota by the names of its limits.
func (a *Account) limits() map[string]string {
	m := map[string]string{}
	for name, limit := range map[string]int64{
		"queues": a.Queues, "topics": a.Topics, "messages": a.Messages, "bytes": a.Bytes, "requestsPerSecond": a.RequestsPerSecond,
	} {
		m[name] = strconv.FormatInt(limit, 10) // 0: no limit
	}
	return m
}

func compare(object string, have, want []thing) (list []Difference) {
	present := map[string]map[string]string{}
	for _, h := range have {
		present[h.name] = h.values
	}
	wanted := map[string]bool{}
	for _, w := range want {
		wanted[w.name] = true
		values, found := present[w.name]
		if !found {
			list = append(list, Difference{Kind: Add, Object: object, Name: w.name})
			continue
		}
		list = append(list, differences(object, w.name, values, w.values)...)
	}
	for _, h := range have {
		if !wanted[h.name] {
			list = append(list, Difference{Kind: Remove, Object: object, Name: h.name})
		}
	}
	return list
}

// differences lists the values of one object that differ.
func differences(object, name string, have, want map[string]string) (list []Difference) {
	all := maps.Clone(have)
	maps.Copy(all, want)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		h, present := have[key]
		w, wanted := want[key]
		switch {
		case present && !wanted:
			list = append(list, Difference{Remove, object, name, key, h, ""})
		case !present && wanted:
			list = append(list, Difference{Add, object, name, key, "", w})
		case h != w:
			list = append(list, Difference{Change, object, name, key, h, w})
		}
	}
	return list
}

// String returns the difference as a line: + for Add, - for Remove, ~ for Change.
func (d Difference) String() string {
	line := map[Kind]string{Add: "+", Change: "~", Remove: "-"}[d.Kind] + " " + d.Object + " " + d.Name
	switch {
	case d.Value == "":
		return line
	case d.Kind == Change:
		return line + ": " + d.Value + ": " + d.Have + " -> " + d.Want
	default:
		return line + ": " + d.Value + ": " + d.Have + d.Want
	}
}
