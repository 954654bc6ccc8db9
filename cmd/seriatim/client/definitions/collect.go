package definitions

import (
	"context"
	"net/url"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/queue/attributes"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
	"github.com/seriatimq/seriatim/transport/grpc/ruletext"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// Parts of a document.
const (
	Queues   = "queues"
	Topics   = "topics"
	Accounts = "accounts"
	Policies = "policies"
	Keys     = "keys"
)

// Parts lists all parts of a document.
func Parts() []string { return []string{Queues, Topics, Accounts, Policies, Keys} }

// Cluster is a cluster to read and change. Only accounts, policies and keys need the admin port.
type Cluster struct {
	Native *native.Conn
	Get    func(ctx context.Context, path string, query url.Values, out any) error
	Post   func(ctx context.Context, path string, in, out any) error
	Parts  map[string]bool // that Collect reads and Apply changes
}

// atOnceMax bounds the concurrent requests.
const atOnceMax = 32

// left names attributes that a document leaves out: they describe the nodes, or follow from the name.
var left = map[string]bool{"SqsManagedSseEnabled": true, "FifoQueue": true, "FifoTopic": true}

// settable keeps the attributes that can be set.
func settable(known []attributes.Described, listed map[string]string) map[string]string {
	kept := map[string]string{}
	for _, d := range known {
		value, found := listed[d.Name]
		if !found || left[d.Name] || value == "" || d.Name == "Policy" && strings.Contains(value, `"__default_policy_ID"`) {
			continue
		}
		kept[d.Name] = value
	}
	return kept
}

// QueueOf returns a queue with the listed attributes that can be set.
func QueueOf(name string, listed, tags map[string]string) Queue {
	return Queue{name, settable(attributes.Describe(), listed), tags}
}

// Collect reads the definitions of a cluster.
func Collect(ctx context.Context, c *Cluster) (*Document, error) {
	d := &Document{Version: currentVersion}
	for _, part := range []struct {
		name string
		read func(context.Context, *Document) error
	}{
		{Queues, c.queues}, {Topics, c.topics}, {Accounts, c.accounts}, {Policies, c.policies}, {Keys, c.keys},
	} {
		if !c.Parts[part.name] {
			continue
		}
		if err := part.read(ctx, d); err != nil {
			return nil, err
		}
	}
	d.Sort()
	return d, nil
}

func (c *Cluster) queues(ctx context.Context, d *Document) error {
	names, err := native.Get(ctx, c.Native, func(ctx context.Context, to *api.Client) ([]string, error) {
		names, _, err := to.Queues(ctx, "")
		return names, err
	})
	if err != nil {
		return err
	}
	d.Queues = make([]Queue, len(names))
	arns := make([]string, len(names))
	err = each(ctx, len(names), func(ctx context.Context, i int) error {
		return c.Native.Do(ctx, 0, func(ctx context.Context, to *api.Client) error {
			listed, err := to.QueueAttributes(ctx, names[i])
			if err != nil {
				return err
			}
			tags, err := to.QueueTags(ctx, names[i])
			d.Queues[i] = QueueOf(names[i], listed, tags)
			arns[i] = listed["QueueArn"]
			return err
		})
	})
	if len(arns) > 0 {
		d.place.learn(arns[0])
	}
	for i := range d.Queues {
		localizeAll(d.place, d.Queues[i].Attributes)
	}
	return err
}

// each calls a function for all indexes, several at a time.
func each(ctx context.Context, count int, call func(context.Context, int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnceMax)
	for i := range count {
		g.Go(func() error { return call(ctx, i) })
	}
	return g.Wait()
}

func localizeAll(p place, values map[string]string) {
	for name, value := range values {
		values[name] = p.localize(value)
	}
}

func (c *Cluster) topics(ctx context.Context, d *Document) error {
	names, err := native.Get(ctx, c.Native, func(ctx context.Context, to *api.Client) ([]string, error) { return to.Topics(ctx) })
	if err != nil {
		return err
	}
	d.Topics = make([]Topic, len(names))
	arns := make([]string, len(names))
	err = each(ctx, len(names), func(ctx context.Context, i int) error {
		return c.Native.Do(ctx, 0, func(ctx context.Context, to *api.Client) (err error) {
			d.Topics[i], arns[i], err = topic(ctx, to, names[i])
			return err
		})
	})
	if len(arns) > 0 {
		d.place.learn(arns[0])
	}
	for i := range d.Topics {
		localizeAll(d.place, d.Topics[i].Attributes)
		for j := range d.Topics[i].Subscriptions {
			localizeAll(d.place, d.Topics[i].Subscriptions[j].Attributes)
		}
	}
	return err
}

// topic reads a topic with its subscriptions.
func topic(ctx context.Context, to *api.Client, name string) (t Topic, arn string, err error) {
	listed, err := to.TopicAttributes(ctx, name)
	if err != nil {
		return t, "", err
	}
	tags, err := to.TopicTags(ctx, name)
	if err != nil {
		return t, "", err
	}
	t = Topic{Name: name, Attributes: settable(attributes.DescribeTopics(), listed), Tags: tags}
	found, err := to.Subscriptions(ctx, name)
	if err != nil {
		return t, "", err
	}
	for _, s := range found {
		given, err := to.SubscriptionAttributes(ctx, s.GetSubscriptionArn())
		if err != nil {
			return t, "", err
		}
		one := Subscription{Attributes: settable(attributes.DescribeSubscriptions(), given), arn: s.GetSubscriptionArn()}
		if one.Queue = s.GetQueue(); one.Queue == "" {
			one.URL = s.GetEndpoint()
		} else if one.Rules, err = rules(ctx, to, one.arn); err != nil {
			return t, "", err
		}
		t.Subscriptions = append(t.Subscriptions, one)
	}
	return t, listed["TopicArn"], nil
}

// rules reads the rules of a subscription, nil for the default rule alone.
func rules(ctx context.Context, to *api.Client, subscriptionARN string) (*[]ruletext.Rule, error) {
	found, err := to.Rules(ctx, subscriptionARN)
	list := []ruletext.Rule{}
	for _, r := range found {
		list = append(list, ruletext.Of(r))
	}
	if err != nil || len(list) == 1 && list[0].IsDefault() {
		return nil, err
	}
	return &list, nil
}

// Paths of the admin port.
const (
	accountsPath = "/v1/accounts"
	policiesPath = "/v1/access/policies"
	keysPath     = "/v1/access/keys"
)

func (c *Cluster) accounts(ctx context.Context, d *Document) error {
	list, err := c.listAccounts(ctx)
	for _, a := range list {
		one := Account{
			ID: a.Account, Queues: a.Quota.Queues, Topics: a.Quota.Topics, Messages: a.Quota.Messages, Bytes: a.Quota.Bytes,
			RequestsPerSecond: a.Quota.RequestsPerSecond,
		}
		if a.Own {
			one.ID, one.Own = "", true
		}
		d.Accounts = append(d.Accounts, one)
	}
	return err
}

func (c *Cluster) listAccounts(ctx context.Context) ([]document.Account, error) {
	var list document.Accounts
	err := c.Get(ctx, accountsPath, nil, &list)
	return list.Accounts, err
}

// own returns the id of the account of the cluster.
func (c *Cluster) own(ctx context.Context) (string, error) {
	list, err := c.listAccounts(ctx)
	for _, a := range list {
		if a.Own {
			return a.Account, err
		}
	}
	return "", err
}

func (c *Cluster) policies(ctx context.Context, d *Document) error {
	own, err := c.own(ctx)
	if err != nil {
		return err
	}
	var list document.UserPolicies
	err = c.Get(ctx, policiesPath, nil, &list)
	for _, p := range list.Policies {
		d.Policies = append(d.Policies, Policy{other(p.Account, own), p.User, p.Policy})
	}
	if err == nil && d.place == (place{}) { // queues and topics were not read
		d.place, err = c.findPlace(ctx)
	}
	for i := range d.Policies {
		d.Policies[i].Policy = d.place.localize(d.Policies[i].Policy)
	}
	return err
}

// findPlace returns the place of the cluster, unknown without a queue and a topic.
func (c *Cluster) findPlace(ctx context.Context) (p place, err error) {
	err = c.Native.Do(ctx, 0, func(ctx context.Context, to *api.Client) error {
		queues, _, err := to.Queues(ctx, "")
		if err != nil {
			return err
		}
		if len(queues) > 0 {
			listed, err := to.QueueAttributes(ctx, queues[0])
			p.learn(listed["QueueArn"])
			return err
		}
		topics, err := to.Topics(ctx)
		if err != nil || len(topics) == 0 {
			return err
		}
		listed, err := to.TopicAttributes(ctx, topics[0])
		p.learn(listed["TopicArn"])
		return err
	})
	return p, err
}

func (c *Cluster) keys(ctx context.Context, d *Document) error {
	own, err := c.own(ctx)
	if err != nil {
		return err
	}
	var list document.AccessKeys
	err = c.Get(ctx, keysPath, nil, &list)
	for _, k := range list.Keys {
		d.Keys = append(d.Keys, Key{k.ID, other(k.Account, own), k.User, k.Active})
	}
	return err
}

// other returns an account, empty if it is that of the cluster.
func other(account, own string) string {
	if account == own {
		return ""
	}
	return account
}
