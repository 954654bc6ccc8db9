package console

import (
	"encoding/json"
	"net/url"
	"sort"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/filter"
	"github.com/seriatimq/seriatim/transport/grpc/ruletext"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// topicsMax bounds the topics and the subscriptions that a page reads.
const topicsMax = 1000

// topicRow is a topic in a list.
type topicRow struct {
	Name          string
	FIFO          bool
	Subscriptions int
	Pending       int
}

// topicsPage lists topics.
type topicsPage struct {
	listPage
	Rows []topicRow
	More bool // there are more than the page reads
}

func topicURL(name string) string { return "/topics/" + url.PathEscape(name) }

func (p *page) topics() {
	l := p.newList("name")
	data := topicsPage{listPage: l}
	byKey := p.session.credentials.key.AccessKeyID != ""
	if byKey {
		if _, err := p.topicsAPI("").ListTopics(p.r.Context(), &seriatimpb.ListTopicsRequest{PageSize: 1}); err != nil {
			p.fail(err)
			return
		}
	}
	var all []topicRow
	p.console.Node.ReadLocal(func(v queue.View) {
		names := v.ListTopics("", topicsMax+1)
		if byKey {
			names = v.TopicsOf(p.owner(), "", topicsMax+1)
		}
		for _, name := range names {
			if l.Find != "" && !strings.Contains(strings.ToLower(name), strings.ToLower(l.Find)) {
				continue
			}
			row := topicRow{Name: name, FIFO: strings.HasSuffix(name, ".fifo")}
			if list, refused := v.ListSubscriptionsByTopic(name, 0, topicsMax); refused == nil {
				row.Subscriptions = len(list)
				for _, s := range list {
					if s.Pending {
						row.Pending++
					}
				}
			}
			all = append(all, row)
		}
		data.More = len(names) > topicsMax
	})
	sort.SliceStable(all, func(a, b int) bool {
		less := all[a].Name < all[b].Name
		if l.Sort == "subscriptions" && all[a].Subscriptions != all[b].Subscriptions {
			less = all[a].Subscriptions < all[b].Subscriptions
		}
		return less != l.Desc
	})
	from, to := data.cut(len(all), len(all))
	data.Rows = all[from:to]
	p.render("topics", "Topics", data)
}

// subscription is one subscription of a topic.
type subscription struct {
	ARN, Endpoint, Queue string
	Protocol             string
	Pending              bool
	Filter, Scope        string
	Replay, ReplayStatus string
	Raw                  bool
	Attributes           []setting
	URL                  string // page of its queue
	Missing              bool   // the queue does not exist
	Verdict              string // of the filter tester: gets it, filtered out, or an error; empty: not asked
	Gets                 bool
	Explained            explanation     // of the deliveries; empty beyond explainedMax subscriptions
	Rules                []ruletext.Rule // of a subscription of a queue
	RulesURL             string          // page of the rules; empty: it has none
}

// explainedMax bounds the subscriptions of a page that are explained.
const explainedMax = 100

// topicPage shows a topic.
type topicPage struct {
	Name          string
	FIFO          bool
	Settings      []setting
	Subscriptions []subscription
	Graph         graph
	Message       string // of the filter tester
	Attributes    string
	Tested        bool
	Problem       string // of the tester
	Now           int64
	Receivers     int
	ArchivedFrom  string         // earliest time of a replay; empty: the topic has no archive
	Scheduled     int            // messages that the topic publishes later
	Later         []scheduledRow // the first of them
}

// URL returns the page of the topic.
func (t topicPage) URL() string { return topicURL(t.Name) }

func (p *page) topic() {
	name := p.stateName(p.r.PathValue("name"))
	p.crumbs = []crumb{{"Topics", "/topics"}, {name, topicURL(name)}}
	api, ctx := p.topicsAPI(name), p.r.Context()
	attributes, err := api.GetTopicAttributes(ctx, &seriatimpb.GetTopicAttributesRequest{Topic: p.called(name)})
	if err != nil {
		p.fail(err)
		return
	}
	q := p.r.URL.Query()
	data := topicPage{
		Name: name, FIFO: strings.HasSuffix(name, ".fifo"), Settings: settingsOf(attributes.GetAttributes()),
		Message: q.Get("message"), Attributes: q.Get("attributes"), Tested: q.Has("message"),
	}
	data.ArchivedFrom = attributes.GetAttributes()["BeginningArchiveTime"]
	p.console.Node.ReadLocal(func(v queue.View) { data.Scheduled = v.TopicScheduled(name) })
	if data.Scheduled > 0 {
		data.Later = p.scheduledOf(name)
	}
	list, err := api.ListSubscriptions(ctx, &seriatimpb.ListSubscriptionsRequest{Topic: p.called(name), PageSize: topicsMax})
	if err != nil {
		p.fail(err)
		return
	}
	for _, s := range list.GetSubscriptions() {
		data.Subscriptions = append(data.Subscriptions, p.subscription(api, name, s))
	}
	for i := range data.Subscriptions[:min(len(data.Subscriptions), explainedMax)] {
		s := &data.Subscriptions[i]
		s.Explained = p.explain(name, &seriatimpb.ExplainRequest{Subject: &seriatimpb.ExplainRequest_Subscription{
			Subscription: &seriatimpb.SubscriptionSubject{SubscriptionArn: s.ARN},
		}})
	}
	if data.Tested {
		p.testTopic(api, &data)
	}
	data.Graph = drawGraph(data)
	p.render("topic", name, data)
}

// subscription reads the attributes of a subscription.
func (p *page) subscription(api seriatimpb.TopicsClient, topic string, s *seriatimpb.Subscription) subscription {
	out := subscription{ARN: s.GetSubscriptionArn(), Endpoint: s.GetEndpoint(), Queue: s.GetQueue(), Pending: s.GetPending()}
	if out.Queue != "" {
		name := out.Queue
		if access.OwnerOf(name) == "" {
			name = access.Sibling(topic, name)
		}
		out.URL = queueURL(name)
		p.console.Node.ReadLocal(func(v queue.View) { out.Missing = !v.QueueExists(name) })
	}
	got, err := api.GetSubscriptionAttributes(p.r.Context(), &seriatimpb.GetSubscriptionAttributesRequest{SubscriptionArn: out.ARN})
	if err != nil {
		return out // a pending subscription, or one that was just removed
	}
	attributes := got.GetAttributes()
	out.Filter, out.Scope = attributes["FilterPolicy"], attributes["FilterPolicyScope"]
	out.Replay, out.ReplayStatus = attributes["ReplayPolicy"], attributes["ReplayStatus"]
	out.Raw, out.Protocol = attributes["RawMessageDelivery"] == "true", attributes["Protocol"]
	out.Attributes = settingsOf(attributes)
	if out.Queue != "" {
		if rules, err := p.rulesOf(api, out.ARN); err == nil { // the caller may be allowed to see less
			out.Rules, out.RulesURL = rules, rulesURL(topic, out.Queue)
		}
	}
	return out
}

// AllMessages reports whether the only rule is the one that selects every message.
func (s subscription) AllMessages() bool { return len(s.Rules) == 1 && s.Rules[0].IsDefault() }

// Called returns the name of the subscriber in commands.
func (s subscription) Called() string {
	if s.Queue != "" {
		return s.Queue
	}
	return s.Endpoint
}

// testTopic compares a publication with the filter and the rules of each subscription.
func (p *page) testTopic(api seriatimpb.TopicsClient, t *topicPage) {
	attributes, problem := publishedAttributes(t.Attributes)
	if t.Problem = problem; problem != "" {
		return
	}
	m := filter.NewMessage(attributes, t.Message)
	for i := range t.Subscriptions {
		s := &t.Subscriptions[i]
		if s.Verdict = s.withholds(m); s.Verdict == "" && s.RulesURL != "" && !s.AllMessages() {
			s.Verdict = p.rulesWithhold(api, s.ARN, attributes)
		}
		if s.Verdict == "" {
			s.Verdict, s.Gets = "gets it", true
			t.Receivers++
		}
	}
}

// withholds says why a subscription does not get a message whatever its rules are. Empty: it may get it.
func (s *subscription) withholds(m *filter.Message) string {
	switch {
	case s.Pending:
		return "waits for its confirmation"
	case s.Missing:
		return "is lost: the queue does not exist"
	}
	scope := filter.MessageAttributes
	if s.Scope != "" {
		scope, _ = filter.ParseScope(s.Scope) // the state holds valid ones only
	}
	switch policy, err := filter.Parse(s.Filter, scope); {
	case err != nil:
		return err.Error()
	case !policy.Match(m):
		return "does not get it: its filter policy does not match"
	}
	return ""
}

// publishedAttributes reads attributes as a JSON object: texts, numbers, and lists of them.
func publishedAttributes(text string) (list []filter.Attribute, problem string) {
	if strings.TrimSpace(text) == "" {
		return nil, ""
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &given); err != nil {
		return nil, "The attributes must be a JSON object, such as {\"kind\": \"order\", \"amount\": 12}: " + err.Error()
	}
	for name, raw := range given {
		a := filter.Attribute{Name: name, DataType: "String", Value: string(raw)}
		switch {
		case len(raw) > 0 && raw[0] == '"':
			if err := json.Unmarshal(raw, &a.Value); err != nil {
				return nil, "The attribute " + name + " cannot be read: " + err.Error()
			}
		case len(raw) > 0 && raw[0] == '[':
			a.DataType = "String.Array"
		case len(raw) > 0 && raw[0] == '{', string(raw) == "null":
			return nil, "The attribute " + name + " must be a text, a number or a list."
		case string(raw) != "true" && string(raw) != "false":
			a.DataType = "Number"
		}
		list = append(list, a)
	}
	sort.Slice(list, func(a, b int) bool { return list[a].Name < list[b].Name })
	return list, ""
}

func (p *page) createTopic() {
	name := strings.TrimSpace(p.r.PostFormValue("name"))
	attributes := map[string]string{}
	words := []string{"topic", "create", name}
	if strings.HasSuffix(name, ".fifo") {
		attributes["FifoTopic"] = "true"
		if p.r.PostFormValue("content") != "" {
			attributes["ContentBasedDeduplication"] = "true"
			words = append(words, "--attribute", "ContentBasedDeduplication=true")
		}
	}
	_, err := p.topicsAPI(name).CreateTopic(p.r.Context(), &seriatimpb.CreateTopicRequest{Topic: name, Attributes: attributes})
	to := "/topics"
	if err == nil {
		to = topicURL(name)
	}
	p.done(err, to, "Topic "+name+" created.", command(words...))
}

func (p *page) publish() {
	name, f := p.stateName(p.r.PathValue("name")), p.r.PostForm
	m := &seriatimpb.TopicMessage{Message: f.Get("message")}
	words := []string{"topic", "publish", name, line(80, f.Get("message"))}
	if group := f.Get("group"); group != "" {
		m.GroupId = &group
		words = append(words, "--group", group)
	}
	if id := f.Get("dedup"); id != "" {
		m.DeduplicationId = &id
		words = append(words, "--deduplication-id", id)
	}
	attributes, problem := publishedAttributes(f.Get("attributes"))
	if problem != "" {
		p.session.say(flash{Kind: "failed", Text: problem})
		p.redirect(topicURL(name))
		return
	}
	m.Attributes = map[string]*seriatimpb.Attribute{}
	for _, a := range attributes {
		m.Attributes[a.Name] = &seriatimpb.Attribute{DataType: a.DataType, Value: &seriatimpb.Attribute_Text{Text: a.Value}}
		words = append(words, "--attribute", a.Name+":"+a.DataType+"="+a.Value)
	}
	out, err := p.topicsAPI(name).Publish(p.r.Context(), &seriatimpb.PublishRequest{
		Topic: p.called(name), Messages: []*seriatimpb.TopicMessage{m},
	})
	text := ""
	if results := out.GetResults(); len(results) > 0 {
		text = "Published as " + results[0].GetMessageId() + "."
		if results[0].GetDuplicate() {
			text = "Dropped as a duplicate: the topic remembers the deduplication id, of message " + results[0].GetMessageId() + "."
		}
	}
	p.console.tables.forget()
	p.done(err, topicURL(name), text, command(words...))
}

func (p *page) subscribe() {
	name, endpoint := p.stateName(p.r.PathValue("name")), strings.TrimSpace(p.r.PostFormValue("endpoint"))
	in := &seriatimpb.SubscribeRequest{Topic: p.called(name), Attributes: map[string]string{}}
	words := []string{"topic", "subscribe", name, endpoint}
	if strings.HasPrefix(endpoint, "http://") || strings.HasPrefix(endpoint, "https://") {
		in.Url = endpoint
	} else {
		in.Queue = endpoint
	}
	if p.r.PostFormValue("raw") != "" {
		in.Attributes["RawMessageDelivery"] = "true"
		words = append(words, "--raw")
	}
	if policy := strings.TrimSpace(p.r.PostFormValue("filter")); policy != "" {
		in.Attributes["FilterPolicy"] = policy
		words = append(words, "-a", "FilterPolicy="+policy)
	}
	if scope := p.r.PostFormValue("scope"); scope == "MessageBody" && in.Attributes["FilterPolicy"] != "" {
		in.Attributes["FilterPolicyScope"] = scope
		words = append(words, "-a", "FilterPolicyScope="+scope)
	}
	_, err := p.topicsAPI(name).Subscribe(p.r.Context(), in)
	p.done(err, topicURL(name), endpoint+" is subscribed.", command(words...))
}

func (p *page) unsubscribe() {
	name, arn, endpoint := p.stateName(p.r.PathValue("name")), p.r.PostFormValue("arn"), p.r.PostFormValue("endpoint")
	if !p.confirmed(endpoint, topicURL(name)) {
		return
	}
	_, err := p.topicsAPI(name).Unsubscribe(p.r.Context(), &seriatimpb.UnsubscribeRequest{SubscriptionArn: arn})
	p.done(err, topicURL(name), endpoint+" is no longer subscribed.", command("topic", "unsubscribe", name, endpoint))
}

func (p *page) setFilter() {
	name := p.stateName(p.r.PathValue("name"))
	attributes := map[string]string{"FilterPolicy": strings.TrimSpace(p.r.PostFormValue("filter"))}
	if scope := p.r.PostFormValue("scope"); scope != "" && attributes["FilterPolicy"] != "" {
		attributes["FilterPolicyScope"] = scope
	}
	_, err := p.topicsAPI(name).SetSubscriptionAttributes(p.r.Context(), &seriatimpb.SetSubscriptionAttributesRequest{
		SubscriptionArn: p.r.PostFormValue("arn"), Attributes: attributes,
	})
	p.done(err, topicURL(name), "Filter policy changed.", command("topic", "subscription", "set", name, p.r.PostFormValue("endpoint"),
		"FilterPolicy="+attributes["FilterPolicy"]))
}

func (p *page) deleteTopic() {
	name := p.stateName(p.r.PathValue("name"))
	if !p.confirmed(name, topicURL(name)) {
		return
	}
	_, err := p.topicsAPI(name).DeleteTopic(p.r.Context(), &seriatimpb.DeleteTopicRequest{Topic: p.called(name)})
	p.done(err, "/topics", "Topic "+name+" deleted, with its subscriptions. Delivered messages stay in the queues.",
		command("topic", "delete", name))
}
