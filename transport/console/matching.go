package console

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// findForm is the filter of a list of messages, and of changes to all messages that match it.
type findForm struct{ Group, ID, Dedup, State, Body, Attribute, Value, Older string }

// formOf reads the filter from a query or a form.
func formOf(v url.Values) findForm {
	return findForm{
		Group: v.Get("group"), ID: strings.TrimSpace(v.Get("id")), Dedup: v.Get("dedup"), State: v.Get("state"), Body: v.Get("body"),
		Attribute: v.Get("attribute"), Value: v.Get("value"), Older: strings.TrimSpace(v.Get("older")),
	}
}

// empty reports whether the form filters nothing but a group.
func (f findForm) empty() bool {
	f.Group = ""
	return f == findForm{}
}

// Fields returns the fields that are not empty, by their names in forms.
func (f findForm) Fields() map[string]string {
	fields := map[string]string{
		"group": f.Group, "id": f.ID, "dedup": f.Dedup, "state": f.State, "body": f.Body, "attribute": f.Attribute, "value": f.Value,
		"older": f.Older,
	}
	for name, value := range fields {
		if value == "" {
			delete(fields, name)
		}
	}
	return fields
}

// URL returns the page of the matching messages of a queue, empty without a filter.
func (f findForm) URL(queue string) string {
	q := url.Values{}
	for name, value := range f.Fields() {
		q.Set(name, value)
	}
	if len(q) == 0 {
		return ""
	}
	return queueURL(queue) + "/messages?" + q.Encode()
}

// words returns the filter as flags of a command.
func (f findForm) words() (words []string) {
	for _, flag := range []struct{ name, value string }{
		{"--group", f.Group}, {"--message", f.ID}, {"--deduplication-id", f.Dedup}, {"--state", strings.ReplaceAll(f.State, " ", "-")},
		{"--body", f.Body}, {"--older-than", f.Older},
	} {
		if flag.value != "" {
			words = append(words, flag.name, flag.value)
		}
	}
	if f.Attribute != "" {
		words = append(words, "--attribute", f.Attribute+"="+f.Value)
	}
	return words
}

// filter returns the filter for the native API.
func (f findForm) filter(now time.Time) (*seriatimpb.MessageFilter, error) {
	filter := &seriatimpb.MessageFilter{GroupId: f.Group, MessageId: f.ID, DeduplicationId: f.Dedup, BodyContains: f.Body}
	for state, name := range messageStates {
		if name[0] == f.State {
			filter.States = append(filter.States, state)
		}
	}
	if f.Attribute != "" {
		filter.Attributes = map[string]string{f.Attribute: f.Value}
	}
	if f.Older != "" {
		age, err := time.ParseDuration(f.Older)
		if err != nil || age < 0 {
			return nil, fmt.Errorf("the age must be a duration such as 90s, 15m or 24h, not %q", line(40, f.Older))
		}
		filter.SentBeforeMs = now.Add(-age).UnixMilli()
	}
	return filter, nil
}

// findMessages fills in a page of messages that match the form.
func (p *page) findMessages(data *messagesPage) error {
	filter, err := data.Find.filter(p.console.Now())
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	out, err := p.operations(data.Name).FindMessages(p.r.Context(), &seriatimpb.FindMessagesRequest{
		Queue: p.called(data.Name), Filter: filter, PageSize: messagesShown, PageToken: p.r.URL.Query().Get("after"),
	})
	if status.Code(err) == codes.Unimplemented {
		return errors.New("this node cannot search messages yet: finish the upgrade of all nodes")
	}
	if err != nil {
		return err
	}
	data.Filtered, data.Scanned = true, out.GetScanned()
	for _, m := range out.GetMessages() {
		data.Rows = append(data.Rows, messageOf(data.Name, m))
	}
	if token := out.GetNextPageToken(); token != "" {
		data.Next = p.next("after", token)
	}
	return nil
}

const (
	matchingMax  = 5000 // messages that one form changes
	matchingPage = 100  // of one call
)

// changeMatching deletes or moves all messages that match a filter. Messages in flight stay.
func (p *page) changeMatching() {
	name, to, f := p.stateName(p.r.PathValue("name")), strings.TrimSpace(p.r.PostFormValue("to")), formOf(p.r.PostForm)
	back := p.back(queueURL(name) + "/messages")
	deletes := p.r.PostFormValue("do") == "delete"
	if deletes && !p.confirmed(name, back) {
		return
	}
	filter, err := f.filter(p.console.Now())
	if f == (findForm{}) {
		err = errors.New("nothing was changed: set a filter")
	}
	if err != nil {
		p.done(err, back, "", "")
		return
	}
	if len(filter.GetStates()) == 0 {
		filter.States = []seriatimpb.MessageState{
			seriatimpb.MessageState_MESSAGE_STATE_VISIBLE, seriatimpb.MessageState_MESSAGE_STATE_DELAYED,
			seriatimpb.MessageState_MESSAGE_STATE_SCHEDULED, seriatimpb.MessageState_MESSAGE_STATE_DEFERRED,
		}
	}
	c := matching{p: p, queue: name, to: to, deletes: deletes}
	err = c.all(filter)
	word, words := "moved", append([]string{"msg", "move", name}, f.words()...)
	if deletes {
		word, words = "deleted", append([]string{"msg", "discard", name}, f.words()...)
	}
	if to != "" && !deletes {
		words = append(words, "--to", to)
	}
	text := fmt.Sprintf("%d %s.", c.changed, word)
	if c.more {
		text += " More messages match: send the form again."
	}
	p.finish(err, c.failed, back, text, command(words...))
}

// matching is a change of all messages that match a filter.
type matching struct {
	p         *page
	queue, to string
	deletes   bool

	changed int
	more    bool   // there may be further messages
	failed  string // why a message stays; empty: none does
}

// all changes page after page. A page is found anew after the messages of the one before are gone.
func (c *matching) all(filter *seriatimpb.MessageFilter) error {
	api, token := c.p.operations(c.queue), ""
	for {
		found, err := api.FindMessages(c.p.r.Context(), &seriatimpb.FindMessagesRequest{
			Queue: c.p.called(c.queue), Filter: filter, PageSize: matchingPage, PageToken: token,
		})
		if err != nil {
			return err
		}
		if err := c.change(api, found.GetMessages()); err != nil {
			return err
		}
		if token = found.GetNextPageToken(); token == "" {
			return nil
		}
		if c.changed >= matchingMax {
			c.more = true
			return nil
		}
	}
}

// change changes the messages of one page.
func (c *matching) change(api seriatimpb.OperationsClient, found []*seriatimpb.PeekedMessage) error {
	if len(found) == 0 {
		return nil
	}
	var selected []*seriatimpb.MessageSelector
	for _, m := range found {
		selected = append(selected, &seriatimpb.MessageSelector{SequenceNumber: m.GetMessage().GetSequenceNumber()})
	}
	note := func(f *seriatimpb.Failure) {
		if f != nil {
			c.failed = f.GetMessage()
			return
		}
		c.changed++
	}
	if c.deletes {
		out, err := api.DeleteStored(c.p.r.Context(), &seriatimpb.DeleteStoredRequest{Queue: c.p.called(c.queue), Messages: selected})
		for _, r := range out.GetOutcomes() {
			note(r.GetFailure())
		}
		return err
	}
	out, err := api.MoveStored(c.p.r.Context(), &seriatimpb.MoveStoredRequest{
		Queue: c.p.called(c.queue), Destination: c.to, Messages: selected,
	})
	for _, r := range out.GetResults() {
		note(r.GetFailure())
	}
	return err
}
