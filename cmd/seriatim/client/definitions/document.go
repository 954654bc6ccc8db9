package definitions

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/seriatimq/seriatim/transport/grpc/ruletext"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// currentVersion is the version of documents that this program writes.
const currentVersion = 1

// Document describes a cluster. Its lists are sorted.
type Document struct {
	Version  int       `json:"version" yaml:"version"`
	Queues   []Queue   `json:"queues,omitempty" yaml:"queues,omitempty"`
	Topics   []Topic   `json:"topics,omitempty" yaml:"topics,omitempty"`
	Accounts []Account `json:"accounts,omitempty" yaml:"accounts,omitempty"`
	Policies []Policy  `json:"userPolicies,omitempty" yaml:"userPolicies,omitempty"`
	Keys     []Key     `json:"accessKeys,omitempty" yaml:"accessKeys,omitempty"`

	place place // of the cluster that the document was read from
}

// Queue is a queue with the attributes that can be set.
type Queue struct {
	Name       string            `json:"name" yaml:"name"`
	Attributes map[string]string `json:"attributes,omitempty" yaml:"attributes,omitempty"`
	Tags       map[string]string `json:"tags,omitempty" yaml:"tags,omitempty"`
}

// Topic is a topic with its subscriptions.
type Topic struct {
	Name          string            `json:"name" yaml:"name"`
	Attributes    map[string]string `json:"attributes,omitempty" yaml:"attributes,omitempty"`
	Tags          map[string]string `json:"tags,omitempty" yaml:"tags,omitempty"`
	Subscriptions []Subscription    `json:"subscriptions,omitempty" yaml:"subscriptions,omitempty"`
}

// Subscription names a queue or a URL.
type Subscription struct {
	Queue      string            `json:"queue,omitempty" yaml:"queue,omitempty"`
	URL        string            `json:"url,omitempty" yaml:"url,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty" yaml:"attributes,omitempty"`
	// Rules are those of a queue. Nil is the default rule alone.
	Rules *[]ruletext.Rule `json:"rules,omitempty" yaml:"rules,omitempty"`

	arn string // in the cluster that the document was read from
}

// rules returns the rules of the subscription of a queue.
func (s *Subscription) rules() []ruletext.Rule {
	switch {
	case s.Queue == "":
		return nil
	case s.Rules == nil:
		return []ruletext.Rule{*ruletext.Default()}
	default:
		return *s.Rules
	}
}

// rule returns a rule by its name.
func (s *Subscription) rule(name string) *ruletext.Rule {
	list := s.rules()
	i := slices.IndexFunc(list, func(r ruletext.Rule) bool { return r.Name == name })
	return &list[i]
}

func (s *Subscription) subscriber() string { return cmp.Or(s.Queue, s.URL) }

// Account is an account with its quota. The account of the cluster has no id, and Own is set.
type Account struct {
	Own               bool   `json:"own,omitempty" yaml:"own,omitempty"`
	ID                string `json:"id,omitempty" yaml:"id,omitempty"`
	Queues            int64  `json:"queues,omitempty" yaml:"queues,omitempty"`
	Topics            int64  `json:"topics,omitempty" yaml:"topics,omitempty"`
	Messages          int64  `json:"messages,omitempty" yaml:"messages,omitempty"`
	Bytes             int64  `json:"bytes,omitempty" yaml:"bytes,omitempty"`
	RequestsPerSecond int64  `json:"requestsPerSecond,omitempty" yaml:"requestsPerSecond,omitempty"`
}

func (a *Account) quota() document.Quota {
	return document.Quota{
		Queues: a.Queues, Topics: a.Topics, Messages: a.Messages, Bytes: a.Bytes, RequestsPerSecond: a.RequestsPerSecond,
	}
}

// Policy is the policy of a user. Account is empty for the account of the cluster.
type Policy struct {
	Account string `json:"account,omitempty" yaml:"account,omitempty"`
	User    string `json:"user" yaml:"user"`
	Policy  string `json:"policy" yaml:"policy"`
}

// Key is an access key without its secret. Account is empty for the account of the cluster.
type Key struct {
	ID      string `json:"id" yaml:"id"`
	Account string `json:"account,omitempty" yaml:"account,omitempty"`
	User    string `json:"user,omitempty" yaml:"user,omitempty"`
	Active  bool   `json:"active" yaml:"active"`
}

// place is the region and the account in the ARNs of a cluster; empty: unknown.
type place struct{ region, account string }

// learn takes the place from an ARN of a queue or topic.
func (p *place) learn(arn string) {
	if parts := strings.Split(arn, ":"); len(parts) >= 6 {
		p.region, p.account = parts[3], parts[4]
	}
}

// localize replaces the place in ARNs by variables.
func (p place) localize(text string) string {
	if p.region == "" {
		return text
	}
	for _, service := range services {
		text = strings.ReplaceAll(text, p.prefix(service), Here(service))
	}
	return text
}

// fill replaces the variables that localize wrote by the place.
func (p place) fill(text string) string {
	for _, service := range services {
		text = strings.ReplaceAll(text, Here(service), p.prefix(service))
	}
	return text
}

// hasVariables reports whether fill would change a text.
func hasVariables(text string) bool {
	return slices.ContainsFunc(services, func(service string) bool { return strings.Contains(text, Here(service)) })
}

// services are those whose ARNs have variables.
var services = []string{"sqs", "sns"}

// prefix returns the beginning of the ARNs of a service.
func (p place) prefix(service string) string {
	return "arn:aws:" + service + ":" + p.region + ":" + p.account + ":"
}

// Here returns the beginning of the ARNs of a service, with variables.
func Here(service string) string { return place{"{region}", "{account}"}.prefix(service) }

// Read reads a document in YAML or JSON, and checks it.
func Read(from io.Reader) (*Document, error) {
	d := &Document{}
	decoder := yaml.NewDecoder(from) // JSON is YAML
	decoder.KnownFields(true)
	if err := decoder.Decode(d); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it is empty")
		}
		return nil, err
	}
	switch {
	case d.Version == 0:
		return nil, errors.New("it has no version, so it is no document of definitions")
	case d.Version > currentVersion:
		return nil, fmt.Errorf("it has version %d, and this program knows versions up to %d", d.Version, currentVersion)
	}
	d.Sort()
	return d, d.check()
}

// check refuses entries without a name, and names that appear twice.
func (d *Document) check() error {
	seen := map[string]bool{}
	once := func(kind, name string) error {
		key := kind + " " + name
		switch {
		case name == "":
			return fmt.Errorf("a %s has no name", kind)
		case seen[key]:
			return fmt.Errorf("the %s appears twice", strings.TrimSpace(key))
		}
		seen[key] = true
		return nil
	}
	var err error
	for i := range d.Queues {
		err = errors.Join(err, once("queue", d.Queues[i].Name))
	}
	for i := range d.Topics {
		t := &d.Topics[i]
		err = errors.Join(err, once("topic", t.Name))
		for j := range t.Subscriptions {
			s := &t.Subscriptions[j]
			if s.Queue != "" && s.URL != "" {
				err = errors.Join(err, fmt.Errorf("a subscription of the topic %s has a queue and a url", t.Name))
			}
			err = errors.Join(err, once("subscription of the topic "+t.Name+" to", s.subscriber()))
			for _, r := range s.rules() {
				err = errors.Join(err, once("rule of "+subscriptionName(t.Name, s.subscriber()), strings.ToLower(r.Name)))
				if _, wrong := r.Message(); wrong != nil {
					err = errors.Join(err, fmt.Errorf("the rule %s of %s: %w", r.Name, subscriptionName(t.Name, s.subscriber()), wrong))
				}
			}
		}
	}
	for _, a := range d.Accounts {
		err = errors.Join(err, once("account", a.shown()))
	}
	for _, p := range d.Policies {
		err = errors.Join(err, once("policy of a user", strings.TrimPrefix(p.Account+"/"+p.User, "/")))
	}
	for _, k := range d.Keys {
		err = errors.Join(err, once("access key", k.ID))
	}
	return err
}

// Write writes the document, as JSON or YAML.
func (d *Document) Write(to io.Writer, asJSON bool) error {
	d.Version = currentVersion
	if asJSON {
		encoder := json.NewEncoder(to)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(d)
	}
	encoder := yaml.NewEncoder(to)
	encoder.SetIndent(2)
	return errors.Join(encoder.Encode(d), encoder.Close())
}

// Sort puts all lists in order.
func (d *Document) Sort() {
	slices.SortFunc(d.Queues, func(a, b Queue) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(d.Topics, func(a, b Topic) int { return cmp.Compare(a.Name, b.Name) })
	for i := range d.Topics {
		subscriptions := d.Topics[i].Subscriptions
		slices.SortFunc(subscriptions, func(a, b Subscription) int { return cmp.Compare(a.subscriber(), b.subscriber()) })
		for j := range subscriptions {
			if own := subscriptions[j].Rules; own != nil {
				slices.SortFunc(*own, func(a, b ruletext.Rule) int { return cmp.Compare(a.Name, b.Name) })
			}
		}
	}
	slices.SortFunc(d.Accounts, func(a, b Account) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(d.Policies, func(a, b Policy) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.User, b.User))
	})
	slices.SortFunc(d.Keys, func(a, b Key) int { return cmp.Compare(a.ID, b.ID) })
}

// Keep removes the parts that are not in the set.
func (d *Document) Keep(parts map[string]bool) {
	for part, remove := range map[string]func(){
		Queues: func() { d.Queues = nil }, Topics: func() { d.Topics = nil }, Accounts: func() { d.Accounts = nil },
		Policies: func() { d.Policies = nil }, Keys: func() { d.Keys = nil },
	} {
		if !parts[part] {
			remove()
		}
	}
}
