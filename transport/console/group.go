package console

import (
	"fmt"
	"net/url"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// groupRow is a message group in a list.
type groupRow struct {
	*seriatimpb.MessageGroup
	Label, Tone string // of the state
	URL         string
	First       string // URL of its first message
}

var groupStates = map[seriatimpb.GroupState][2]string{
	seriatimpb.GroupState_GROUP_STATE_EMPTY:       {"empty", "muted"},
	seriatimpb.GroupState_GROUP_STATE_READY:       {"ready", "ok"},
	seriatimpb.GroupState_GROUP_STATE_SESSION:     {"session", "flight"},
	seriatimpb.GroupState_GROUP_STATE_IN_FLIGHT:   {"head in flight", "flight"},
	seriatimpb.GroupState_GROUP_STATE_DELAYED:     {"delayed", "delayed"},
	seriatimpb.GroupState_GROUP_STATE_DEAD_LETTER: {"to dead letters", "bad"},
	seriatimpb.GroupState_GROUP_STATE_LIMIT:       {"at limit", "bad"},
	seriatimpb.GroupState_GROUP_STATE_PAUSED:      {"paused", "delayed"},
}

func groupURL(queue, id string) string { return queueURL(queue) + "/group?id=" + url.QueryEscape(id) }

func groupOf(queue string, g *seriatimpb.MessageGroup) groupRow {
	state, known := groupStates[g.GetState()]
	if !known {
		state = [2]string{"held back", "delayed"}
	}
	row := groupRow{MessageGroup: g, Label: state[0], Tone: state[1], URL: groupURL(queue, g.GetGroupId())}
	if n := g.GetFirstSequenceNumber(); n != 0 {
		row.First = messageURL(queue, n)
	}
	return row
}

// groupsPage lists groups.
type groupsPage struct {
	queueHead
	Rows []groupRow
	// Sessions are those with a state; MoreSessions reports whether there are more than the page lists.
	Sessions     []sessionRow
	MoreSessions bool
	Prefix       string
	State        string
	Next         string
}

// groupsShown is the number of groups of a page.
const (
	groupsShown   = 100
	groupsScanned = 5000 // for a page of blocked groups
)

func (p *page) queueGroups() {
	h, ok := p.queue("groups")
	if !ok {
		return
	}
	q := p.r.URL.Query()
	data := groupsPage{queueHead: h, Prefix: q.Get("prefix"), State: q.Get("state")}
	token := q.Get("after")
	if token == "" && h.FIFO() {
		data.Sessions, data.MoreSessions = p.sessionsOf(h)
	}
	for read := 0; h.FIFO() && read < groupsScanned; read += groupsShown {
		out, err := p.inspection(h.Name).ListGroups(p.r.Context(), &seriatimpb.ListGroupsRequest{
			Queue: p.called(h.Name), Prefix: data.Prefix, PageSize: groupsShown, PageToken: token,
		})
		if err != nil {
			p.fail(err)
			return
		}
		for _, g := range out.GetGroups() {
			blocked := g.GetState() != seriatimpb.GroupState_GROUP_STATE_READY
			if data.State != "blocked" || blocked {
				data.Rows = append(data.Rows, groupOf(h.Name, g))
			}
		}
		if token = out.GetNextPageToken(); token == "" || len(data.Rows) > 0 {
			break
		}
	}
	if token != "" {
		data.Next = p.next("after", token)
	}
	p.render("queue-groups", h.Name, data)
}

// groupPage shows one group.
type groupPage struct {
	queueHead
	Group     groupRow
	Messages  []messageRow
	Hidden    bool // the caller may not read messages
	Explained explanation
}

// suggestion is a command that changes something.
type suggestion struct{ Line, Effect string }

func (p *page) group() {
	h, ok := p.queue("groups")
	if !ok {
		return
	}
	id := p.r.URL.Query().Get("id")
	g, err := p.inspection(h.Name).GetGroup(p.r.Context(), &seriatimpb.GetGroupRequest{Queue: p.called(h.Name), GroupId: id})
	if err != nil {
		p.fail(err)
		return
	}
	data := groupPage{queueHead: h, Group: groupOf(h.Name, g)}
	data.Explained = p.explain(h.Name, &seriatimpb.ExplainRequest{
		Queue: p.called(h.Name), Subject: &seriatimpb.ExplainRequest_GroupId{GroupId: id},
	})
	p.crumbs = append(p.crumbs, crumb{"Groups", h.URL("/groups")})
	out, err := p.messagesAPI(h.Name).Peek(p.r.Context(), &seriatimpb.PeekRequest{
		Queue: p.called(h.Name), GroupId: id, MaxMessages: messagesShown,
	})
	if data.Hidden = err != nil; !data.Hidden {
		for _, m := range out.GetMessages() {
			data.Messages = append(data.Messages, messageOf(h.Name, m))
		}
	}
	p.render("group", "Group "+line(60, id), data)
}

func (p *page) releaseGroup() {
	name, id := p.stateName(p.r.PathValue("name")), p.r.PostFormValue("id")
	if !p.confirmed(id, groupURL(name, id)) {
		return
	}
	out, err := p.inspection(name).ReleaseGroup(p.r.Context(), &seriatimpb.ReleaseGroupRequest{Queue: p.called(name), GroupId: id})
	text := "Nothing held the group."
	switch {
	case out.GetSession():
		text = fmt.Sprintf("The session lock has ended, and %d messages are visible again.", out.GetMessages())
	case out.GetMessages() > 0:
		text = fmt.Sprintf("%d messages are visible again. Their receipt handles no longer work.", out.GetMessages())
	}
	p.console.tables.forget()
	p.done(err, groupURL(name, id), text, command("group", "release", name, id))
}
