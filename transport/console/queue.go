package console

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// queueHead is the part that all pages of a queue show.
type queueHead struct {
	Row        queueRow
	Name       string // as in URLs, and in commands
	Plain      string // without the account
	Account    string
	Attributes map[string]string
	Now        int64
	Tab        string
	Charts     bool
	Paused     bool
}

// URL returns the page of the queue, or of one of its tabs.
func (h queueHead) URL(more ...string) string { return queueURL(h.Name) + strings.Join(more, "") }

// Status returns the status of the queue if it is not active, as in "ReceiveDisabled".
func (h queueHead) Status() string {
	if status := h.Attributes[attributes.NameStatus]; status != attributes.StatusActive.String() {
		return status
	}
	return ""
}

// forwarding is a queue or topic to which messages or dead letters go.
type forwarding struct{ What, Name, URL string }

// Forwards lists the targets of forwarding.
func (h queueHead) Forwards() (list []forwarding) {
	for _, f := range []forwarding{
		{What: "messages", Name: h.Attributes[attributes.NameForwardTo]},
		{What: "dead letters", Name: h.Attributes[attributes.NameForwardDeadLetters]},
	} {
		name, topic := attributes.ForwardTarget(f.Name)
		if name == "" {
			continue
		}
		f.Name, f.URL = name, queueURL(access.Sibling(h.Name, name))
		if topic {
			f.URL = topicURL(access.Sibling(h.Name, name))
		}
		list = append(list, f)
	}
	return list
}

// FIFO reports whether the queue is one.
func (h queueHead) FIFO() bool { return h.Row.FIFO }

// queue reads the head of a page. It answers the request itself if the queue cannot be shown.
func (p *page) queue(tab string) (h queueHead, ok bool) {
	name := p.stateName(p.r.PathValue("name"))
	h = queueHead{Name: name, Plain: access.PlainName(name), Account: p.console.Names.ID(access.OwnerOf(name)), Tab: tab,
		Charts: p.console.Admin.Has(historyPath)}
	p.crumbs = []crumb{{"Queues", "/queues"}, {name, queueURL(name)}}
	out, err := p.queuesAPI(name).GetQueueAttributes(p.r.Context(), &seriatimpb.GetQueueAttributesRequest{Queue: p.called(name)})
	if err != nil {
		p.fail(err)
		return h, false
	}
	h.Attributes = out.GetAttributes()
	var dead queueRow // a missing queue has no messages
	p.console.Node.ReadLocal(func(v queue.View) {
		h.Row, ok = rowOf(v, name)
		h.Now, h.Paused = p.console.clock(v), h.Row.Paused
		dead, _ = rowOf(v, h.Row.DeadLetterQueue)
	})
	if dead.Name != "" && p.mayCount(dead.Name) {
		h.Row.DeadLetters = dead.Messages()
	}
	if !ok {
		p.problem(404, "There is no queue "+harmless(name)+".")
	}
	return h, ok
}

// stateName returns the name of a queue or topic in the state.
func (p *page) stateName(given string) string {
	if p.session.credentials.key.AccessKeyID != "" {
		return p.qualified(given)
	}
	if owner, plain := access.Split(given); owner == p.console.Names.Account {
		return plain
	}
	return given
}

// called returns the name for the native API: with the account, unless it is that of the cluster.
func (p *page) called(name string) string {
	if owner := access.OwnerOf(name); owner == "" && p.session.credentials.key.AccessKeyID != "" {
		return p.console.Names.Account + "/" + access.PlainName(name)
	}
	return name
}

// queueOverviewPage is the first tab.
type queueOverviewPage struct {
	queueHead
	Explained explanation
	Tags      map[string]string
}

func (p *page) queueOverview() {
	h, ok := p.queue("overview")
	if !ok {
		return
	}
	data := queueOverviewPage{queueHead: h, Explained: p.explain(h.Name, &seriatimpb.ExplainRequest{Queue: p.called(h.Name)})}
	if tags, err := p.queuesAPI(h.Name).ListQueueTags(p.r.Context(),
		&seriatimpb.ListQueueTagsRequest{Queue: p.called(h.Name)}); err == nil {
		data.Tags = tags.GetTags()
	}
	p.render("queue", h.Name, data)
}

// settingsPage shows attributes and tags.
type settingsPage struct {
	queueHead
	Rows []setting
	Tags map[string]string
}

// setting is an attribute of a queue or topic.
type setting struct {
	Name, Value string
	Fixed       bool // it cannot be changed
}

// fixedAttributes cannot be set.
var fixedAttributes = map[string]bool{
	"QueueArn": true, "CreatedTimestamp": true, "LastModifiedTimestamp": true, "FifoQueue": true, "ApproximateNumberOfMessages": true,
	"ApproximateNumberOfMessagesDelayed": true, "ApproximateNumberOfMessagesNotVisible": true, "CompatibilityProfile": true,
	"Policy": true,
}

func settingsOf(attributes map[string]string) (rows []setting) {
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		rows = append(rows, setting{Name: name, Value: attributes[name], Fixed: fixedAttributes[name]})
	}
	return rows
}

func (p *page) queueSettings() {
	h, ok := p.queue("settings")
	if !ok {
		return
	}
	p.still = true
	data := settingsPage{queueHead: h, Rows: settingsOf(h.Attributes)}
	if tags, err := p.queuesAPI(h.Name).ListQueueTags(p.r.Context(),
		&seriatimpb.ListQueueTagsRequest{Queue: p.called(h.Name)}); err == nil {
		data.Tags = tags.GetTags()
	}
	p.render("queue-settings", h.Name, data)
}

func (p *page) setQueue() {
	name := p.stateName(p.r.PathValue("name"))
	attribute, value := strings.TrimSpace(p.r.PostFormValue("attribute")), p.r.PostFormValue("value")
	_, err := p.queuesAPI(name).SetQueueAttributes(p.r.Context(), &seriatimpb.SetQueueAttributesRequest{
		Queue: p.called(name), Attributes: map[string]string{attribute: value},
	})
	p.console.tables.forget()
	p.done(err, p.back(queueURL(name)+"/settings"), attribute+" is now "+value+".", command("queue", "update", name, "-a",
		attribute+"="+value))
}

func (p *page) tagQueue() {
	name, key, value := p.stateName(p.r.PathValue("name")), p.r.PostFormValue("key"), p.r.PostFormValue("value")
	var err error
	text, cli := "Tag "+key+" set.", command("queue", "tag", name, key+"="+value)
	if p.r.PostFormValue("remove") != "" {
		text, cli = "Tag "+key+" removed.", command("queue", "untag", name, key)
		_, err = p.queuesAPI(name).UntagQueue(p.r.Context(), &seriatimpb.UntagQueueRequest{Queue: p.called(name), Keys: []string{key}})
	} else {
		_, err = p.queuesAPI(name).TagQueue(p.r.Context(), &seriatimpb.TagQueueRequest{Queue: p.called(name),
			Tags: map[string]string{key: value}})
	}
	p.done(err, queueURL(name)+"/settings", text, cli)
}

func (p *page) queuePolicy() {
	h, ok := p.queue("policy")
	if !ok {
		return
	}
	p.still = true
	text, formatted := pretty(h.Attributes["Policy"])
	if !formatted {
		text = h.Attributes["Policy"]
	}
	p.render("queue-policy", h.Name, struct {
		queueHead
		Policy string
	}{h, text})
}

func (p *page) setQueuePolicy() {
	name, policy := p.stateName(p.r.PathValue("name")), strings.TrimSpace(p.r.PostFormValue("policy"))
	_, err := p.queuesAPI(name).SetQueueAttributes(p.r.Context(), &seriatimpb.SetQueueAttributesRequest{
		Queue: p.called(name), Attributes: map[string]string{"Policy": policy},
	})
	p.done(err, queueURL(name)+"/policy", "Access policy changed.", command("queue", "update", name, "-a", "Policy="+policy))
}

func (p *page) purgeQueue() {
	name := p.stateName(p.r.PathValue("name"))
	if !p.confirmed(name, queueURL(name)) {
		return
	}
	_, err := p.queuesAPI(name).PurgeQueue(p.r.Context(), &seriatimpb.PurgeQueueRequest{Queue: p.called(name)})
	p.console.tables.forget()
	p.done(err, queueURL(name), "All messages of "+name+" are deleted.", command("queue", "purge", name))
}

func (p *page) deleteQueue() {
	name := p.stateName(p.r.PathValue("name"))
	if !p.confirmed(name, queueURL(name)+"/settings") {
		return
	}
	_, err := p.queuesAPI(name).DeleteQueue(p.r.Context(), &seriatimpb.DeleteQueueRequest{Queue: p.called(name)})
	p.console.tables.forget()
	to := "/queues"
	if err != nil {
		to = queueURL(name) + "/settings"
	}
	p.done(err, to, "Queue "+name+" deleted.", command("queue", "delete", name))
}

// back returns the page that a form names, or another.
func (p *page) back(usual string) string {
	if given := p.r.PostFormValue("back"); given != "" {
		return localPath(given)
	}
	return usual
}

func (p *page) sendMessage() {
	name, f := p.stateName(p.r.PathValue("name")), p.r.PostForm
	count, err := strconv.Atoi(strings.TrimSpace(f.Get("count")))
	if err != nil || count < 1 || count > sendMax {
		count = 1
	}
	words := []string{"msg", "send", name, line(80, f.Get("body"))}
	at, err := scheduledAt(f.Get("at"))
	if err != nil {
		p.done(err, p.back(queueURL(name)), "", "")
		return
	}
	if at != 0 {
		words = []string{"msg", "schedule", name, line(80, f.Get("body")), "--at", time.UnixMilli(at).UTC().Format(time.RFC3339)}
	}
	if group := f.Get("group"); group != "" {
		words = append(words, "--group", group)
	}
	var sent, duplicates int
	for first := 1; first <= count && err == nil; first += batchMax {
		sent, duplicates, err = p.sendBatch(name, at, first, min(batchMax, count-first+1), sent, duplicates)
	}
	text := fmt.Sprintf("%d sent.", sent)
	if at != 0 {
		text = fmt.Sprintf("%d scheduled for %s.", sent, clock(at))
	}
	if duplicates > 0 {
		text = fmt.Sprintf("%d sent, and %d dropped as duplicates: the queue remembers the deduplication id.", sent, duplicates)
	}
	p.console.tables.forget()
	p.done(err, p.back(queueURL(name)), text, command(words...))
}

const (
	sendMax  = 1000 // messages of a form
	batchMax = 10
)

// scheduledAt reads the time of a form, in UTC; 0: at once.
func scheduledAt(text string) (ms int64, err error) {
	if text = strings.TrimSpace(text); text == "" {
		return 0, nil
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} { // those of datetime-local
		if at, err := time.Parse(layout, text); err == nil {
			return at.UnixMilli(), nil
		}
	}
	return 0, fmt.Errorf("the time must be written like 2026-12-31T23:59, in UTC, not %q", line(40, text))
}

// sendBatch sends or schedules messages, in which $i stands for the number of the message.
func (p *page) sendBatch(name string, at int64, first, n, sent, duplicates int) (int, int, error) {
	f, messages := p.r.PostForm, []*seriatimpb.OutgoingMessage(nil)
	for i := first; i < first+n; i++ {
		number := strconv.Itoa(i)
		with := func(field string) string { return strings.ReplaceAll(f.Get(field), "$i", number) }
		m := &seriatimpb.OutgoingMessage{Body: with("body")}
		if group := with("group"); group != "" {
			m.GroupId = &group
		}
		if id := with("dedup"); id != "" {
			m.DeduplicationId = &id
		}
		if key := strings.TrimSpace(f.Get("attribute")); key != "" {
			m.Attributes = map[string]*seriatimpb.Attribute{key: {DataType: "String",
				Value: &seriatimpb.Attribute_Text{Text: with("value")}}}
		}
		if at != 0 {
			m.EnqueueAtMs = at
		}
		messages = append(messages, m)
	}
	results, err := p.send(name, messages, at != 0)
	if err != nil {
		return sent, duplicates, err
	}
	for _, r := range results {
		switch {
		case r.GetFailure() != nil:
			return sent, duplicates, fmt.Errorf("%d sent; then: %s", sent, r.GetFailure().GetMessage())
		case r.GetDuplicate():
			duplicates++
		default:
			sent++
		}
	}
	return sent, duplicates, nil
}

func (p *page) send(name string, messages []*seriatimpb.OutgoingMessage, scheduled bool) ([]*seriatimpb.SendResult, error) {
	if scheduled {
		out, err := p.messagesAPI(name).ScheduleMessages(p.r.Context(), &seriatimpb.ScheduleMessagesRequest{
			Queue: p.called(name), Messages: messages,
		})
		return out.GetResults(), err
	}
	out, err := p.queuesAPI(name).Send(p.r.Context(), &seriatimpb.SendRequest{Queue: p.called(name), Messages: messages})
	return out.GetResults(), err
}

func (p *page) queueCode() {
	h, ok := p.queue("code")
	if !ok {
		return
	}
	p.still = true
	p.render("queue-code", h.Name, struct {
		queueHead
		Snippets []snippet
	}{h, p.snippets(h)})
}

// consumersPage shows the clients that hold messages.
type consumersPage struct {
	queueHead
	Holders     []document.Holding
	Missing     []string
	Connections []document.Connection
}

// consumersMax bounds the groups whose holders are looked up.
const consumersMax = 25
