package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// pageRows is the number of rows of a page.
const pageRows = 50

// listPage holds the filter, the order and the page of a list.
type listPage struct {
	Find, Only, Sort string
	Desc             bool
	Page, Pages      int // from 1
	Found, All       int
	Path             string
	Query            url.Values
}

// newList reads the parameters of a list.
func (p *page) newList(sort string) listPage {
	q := p.r.URL.Query()
	l := listPage{
		Find: strings.TrimSpace(q.Get("find")), Only: q.Get("only"), Sort: cmp.Or(q.Get("sort"), sort), Desc: q.Get("desc") == "1",
		Path: p.r.URL.Path, Query: q,
	}
	l.Page, _ = strconv.Atoi(q.Get("page")) // anything else is the first page
	return l
}

// cut sets the number of rows and returns the range of this page.
func (l *listPage) cut(found, all int) (from, to int) {
	l.Found, l.All, l.Pages = found, all, max(1, (found+pageRows-1)/pageRows)
	l.Page = min(max(l.Page, 1), l.Pages)
	from = (l.Page - 1) * pageRows
	return from, min(from+pageRows, found)
}

// with returns the URL of the list with changed parameters.
func (l listPage) with(pairs ...string) string {
	q := url.Values{}
	for name, values := range l.Query {
		q[name] = values
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if q.Set(pairs[i], pairs[i+1]); pairs[i+1] == "" {
			q.Del(pairs[i])
		}
	}
	if len(q) == 0 {
		return l.Path
	}
	return l.Path + "?" + q.Encode()
}

// By returns the URL that sorts by a column: numbers fall at first, names rise.
func (l listPage) By(column string) string {
	desc := "1"
	if column == "name" || l.Sort == column && l.Desc {
		desc = ""
	}
	if column == "name" && l.Sort == column && !l.Desc {
		desc = "1"
	}
	return l.with("sort", column, "desc", desc, "page", "")
}

// Sorted returns the value of aria-sort for a column.
func (l listPage) Sorted(column string) string {
	switch {
	case l.Sort != column:
		return "none"
	case l.Desc:
		return "descending"
	}
	return "ascending"
}

// At returns the URL of a page.
func (l listPage) At(page int) string { return l.with("page", strconv.Itoa(page)) }

// Previous and Next return the numbers of the pages beside this one.
func (l listPage) Previous() int { return l.Page - 1 }

// Next returns the number of the next page.
func (l listPage) Next() int { return l.Page + 1 }

// Where returns the URL with a filter.
func (l listPage) Where(only string) string { return l.with("only", only, "page", "") }

// queuesPage lists queues.
type queuesPage struct {
	listPage
	Now   int64
	Rows  []queueRow
	Rates bool // the rows have rates
	// Tag is the filter by a tag, such as team=billing or team; empty: none.
	Tag string
}

// tagged returns the rows of queues with a tag.
func (p *page) tagged(rows []queueRow, tag string) []queueRow {
	if tag == "" {
		return rows
	}
	key, value, withValue := strings.Cut(tag, "=")
	var chosen []queueRow
	p.console.Node.ReadLocal(func(v queue.View) {
		for _, row := range rows {
			tags, _ := v.Tags(row.Name) // a queue that was just deleted has none
			if slices.ContainsFunc(tags, func(t queue.Tag) bool { return t.Key == key && (!withValue || t.Value == value) }) {
				chosen = append(chosen, row)
			}
		}
	})
	return chosen
}

// choice is an option of a list.
type choice struct{ Value, Title string }

// Choices are the filters of the list.
func (queuesPage) Choices() []choice {
	return []choice{
		{"", "all queues"}, {"messages", "with messages"}, {"inflight", "with messages in flight"}, {"blocked", "with held groups"},
		{"deadletters", "with dead letters"}, {"fifo", "FIFO"}, {"standard", "standard"},
	}
}

// Columns are those that a reader can hide.
func (queuesPage) Columns() []choice {
	return []choice{
		{"trend", "15 minutes"}, {"visible", "Visible"}, {"inflight", "In flight"}, {"delayed", "Delayed"}, {"groups", "Groups"},
		{"blocked", "Held"}, {"oldest", "Oldest"}, {"in", "In/s"}, {"out", "Out/s"}, {"dedup", "Dedup ids"}, {"dlq", "Dead letters"},
	}
}

func (p *page) queues() {
	l := p.newList("name")
	filter := queueFilter{Find: l.Find, Only: l.Only, Sort: l.Sort, Desc: l.Desc}
	tag := strings.TrimSpace(l.Query.Get("tag"))
	if p.session.credentials.key.AccessKeyID != "" {
		p.queuesOfKey(l, filter)
		return
	}
	t := p.console.table(p.r.Context())
	rows := p.tagged(filter.choose(t.Rows, true, ""), tag)
	from, to := l.cut(len(rows), len(t.Rows))
	p.render("queues", "Queues", queuesPage{listPage: l, Tag: tag, Now: t.Now, Rows: p.console.withTrends(rows[from:to]), Rates: t.Rates})
}

// queuesOfKey lists the queues of the account of a key, if its policy permits it. The counts of a
// queue need a permission of their own.
func (p *page) queuesOfKey(l listPage, filter queueFilter) {
	api := p.queuesAPI("")
	if _, err := api.ListQueues(p.r.Context(), &seriatimpb.ListQueuesRequest{PageSize: 1}); err != nil {
		p.fail(err)
		return
	}
	t := p.console.table(p.r.Context())
	rows := filter.choose(t.Rows, false, p.owner())
	from, to := l.cut(len(rows), len(rows))
	rows = rows[from:to]
	for i := range rows {
		if !p.mayCount(rows[i].Name) {
			rows[i] = queueRow{Name: rows[i].Name, FIFO: rows[i].FIFO}
		}
	}
	p.render("queues", "Queues", queuesPage{listPage: l, Now: t.Now, Rows: rows})
}

// mayCount reports whether the caller may see the counts of a queue. The policies of an access key
// decide for each queue.
func (p *page) mayCount(name string) bool {
	if p.session.credentials.key.AccessKeyID == "" {
		return true
	}
	_, err := p.queuesAPI(name).GetQueueAttributes(p.r.Context(), &seriatimpb.GetQueueAttributesRequest{
		Queue: p.called(name), Names: []string{"QueueArn"},
	})
	return err == nil
}

// owner returns the account of the caller by its name in the state.
func (p *page) owner() string {
	account := p.session.credentials.key.Account
	if account == p.console.Names.Account {
		return ""
	}
	return account
}

// createQueue creates a queue from a form.
func (p *page) createQueue() {
	f := p.r.PostForm
	name := strings.TrimSpace(f.Get("name"))
	attributes := map[string]string{}
	words := []string{"queue", "create", name}
	set := func(attribute, value string) {
		if value = strings.TrimSpace(value); value != "" {
			attributes[attribute] = value
			words = append(words, "-a", attribute+"="+value)
		}
	}
	if strings.HasSuffix(name, ".fifo") {
		attributes["FifoQueue"] = "true"
		if f.Get("content") != "" {
			set("ContentBasedDeduplication", "true")
		}
		set("DeduplicationScope", f.Get("scope"))
		set("DeduplicationWindowSeconds", f.Get("window"))
	}
	set("VisibilityTimeout", f.Get("visibility"))
	set("MessageRetentionPeriod", f.Get("retention"))
	if target := strings.TrimSpace(f.Get("dlq")); target != "" {
		redrive := p.redrivePolicy(target, f.Get("receives"))
		attributes["RedrivePolicy"] = redrive
		words = append(words, "-a", "RedrivePolicy="+redrive)
	}
	_, err := p.queuesAPI(name).CreateQueue(p.r.Context(), &seriatimpb.CreateQueueRequest{Queue: name, Attributes: attributes})
	p.console.tables.forget()
	to := "/queues"
	if err == nil {
		to = queueURL(name)
	}
	p.done(err, to, "Queue "+name+" created.", command(words...))
}

// redrivePolicy returns the attribute for a dead-letter queue.
func (p *page) redrivePolicy(target, receives string) string {
	return `{"deadLetterTargetArn":` + strconv.Quote(p.console.Names.QueueARN(p.qualified(target))) + `,"maxReceiveCount":` +
		strconv.Quote(cmp.Or(strings.TrimSpace(receives), "5")) + `}`
}

// qualified returns a name with the account of the caller, unless it names one.
func (p *page) qualified(name string) string {
	if owner, plain := access.Split(name); owner != "" {
		if owner == p.console.Names.Account {
			return plain
		}
		return name
	}
	return access.Qualify(p.owner(), name)
}

// queueURL returns the page of a queue.
func queueURL(name string) string { return "/queues/" + url.PathEscape(name) }

// forget makes the next page read the queues again.
func (t *tableCache) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last, t.at = queueTable{}, t.at.AddDate(-1, 0, 0)
}

// search sends the browser to the thing with a name.
func (p *page) search() {
	find := strings.TrimSpace(p.r.URL.Query().Get("q"))
	if find == "" {
		http.Redirect(p.w, p.r, "/queues", http.StatusSeeOther)
		return
	}
	p.crumbs = nil
	p.render("search", "Search", p.found(find))
}

// searchPage shows what a search has found.
type searchPage struct {
	Find   string
	Queues []queueRow
	Counts bool // of the queues: with an access key they need a permission for each
	Topics []string
	Groups []foundIn
	// Messages are those with the id; Scanned counts the queues that were read for it.
	Messages []foundIn
	Scanned  int
	Read     int // messages
}

// foundIn is a group or a message of a queue.
type foundIn struct{ Queue, ID, URL, State string }

const (
	groupsFoundMax  = 20
	queuesScanned   = 2000   // for groups and message ids
	messagesScanned = 50_000 // of all queues
	scanStep        = 1000   // messages that are read at a time
)

// found searches names, groups and message ids.
func (p *page) found(find string) searchPage {
	out := searchPage{Find: find, Counts: p.session.credentials.key.AccessKeyID == ""}
	all := p.console.table(p.r.Context()).Rows
	queues, topics := p.listable()
	if queues {
		rows := queueFilter{Find: find, Sort: "name"}.choose(all, out.Counts, p.owner())
		out.Queues = rows[:min(len(rows), groupsFoundMax)]
	}
	p.console.Node.ReadLocal(func(v queue.View) {
		for _, name := range v.ListTopics("", queuesScanned) {
			owned := topics && (out.Counts || access.OwnerOf(name) == p.owner())
			if owned && strings.Contains(strings.ToLower(name), strings.ToLower(find)) && len(out.Topics) < groupsFoundMax {
				out.Topics = append(out.Topics, name)
			}
		}
	})
	if !out.Counts { // groups and messages need permissions of each queue
		return out
	}
	for _, row := range all {
		if out.Scanned++; out.Scanned > queuesScanned {
			break
		}
		p.foundInQueue(row, find, &out)
	}
	return out
}

// listable reports whether the caller may list queues, and topics.
func (p *page) listable() (queues, topics bool) {
	if p.session.credentials.key.AccessKeyID == "" {
		return true, true
	}
	_, err := p.queuesAPI("").ListQueues(p.r.Context(), &seriatimpb.ListQueuesRequest{PageSize: 1})
	_, refused := p.topicsAPI("").ListTopics(p.r.Context(), &seriatimpb.ListTopicsRequest{PageSize: 1})
	return err == nil, refused == nil
}

// foundInQueue looks for a group with the name, and for a message with the id.
func (p *page) foundInQueue(row queueRow, find string, out *searchPage) {
	const idLength = len("00000000-0000-0000-0000-000000000000")
	isID := len(find) == idLength && strings.Count(find, "-") == 4
	p.console.Node.ReadLocal(func(v queue.View) {
		if !row.FIFO || len(out.Groups) >= groupsFoundMax {
			return
		}
		if g, refused := v.Group(row.Name, find); refused == nil && (g.Messages > 0 || g.State != queue.GroupEmpty) {
			out.Groups = append(out.Groups, foundIn{Queue: row.Name, ID: g.Name, URL: groupURL(row.Name, g.Name)})
		}
	})
	for from := queue.SequenceNumber(0); isID && row.Messages() > 0 && out.Read < messagesScanned; {
		more := false
		p.console.Node.ReadLocal(func(v queue.View) {
			batch, refused := v.Peek(row.Name, from, "", scanStep)
			if refused != nil {
				return
			}
			out.Read += len(batch)
			for i := range batch {
				if strings.EqualFold(batch[i].MessageID.String(), find) {
					out.Messages = append(out.Messages, foundIn{Queue: row.Name, ID: find, State: batch[i].State,
						URL: messageURL(row.Name, batch[i].Sequence.Number())})
				}
			}
			if more = len(batch) == scanStep; more {
				from = batch[scanStep-1].Sequence + 1
			}
		})
		if !more {
			return
		}
	}
}
