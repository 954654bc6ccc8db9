package console

import (
	"net/url"
	"slices"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// queueConsumers shows the clients that hold messages of a queue.
func (p *page) queueConsumers() {
	h, ok := p.queue("consumers")
	if !ok {
		return
	}
	data := consumersPage{queueHead: h}
	if p.session.credentials.key.AccessKeyID == "" && p.console.Admin.Has(holdersPath) {
		p.askNodes(&data)
	} else if err := p.holders(&data); err != nil {
		p.fail(err)
		return
	}
	p.render("queue-consumers", h.Name, data)
}

const (
	holdersPath     = "/v1/holders"
	connectionsPath = "/v1/connections"
)

// askNodes reads the holders and the connections of all nodes.
func (p *page) askNodes(data *consumersPage) {
	name := url.QueryEscape(data.Name)
	var holders document.HolderList
	if err := p.get(holdersPath+"?queue="+name, &holders); err != nil {
		p.console.Logger.Debug("the console could not list the holders", "queue", data.Name, "error", err)
	}
	var connections document.Connections
	if err := p.get(connectionsPath+"?port=client&queue="+name, &connections); err != nil {
		p.console.Logger.Debug("the console could not list the connections", "queue", data.Name, "error", err)
	}
	data.Holders, data.Connections = holders.Holders, connections.Connections
	data.Missing = append(data.Missing, holders.Missing...)
	for _, node := range connections.Missing {
		if !slices.Contains(data.Missing, node) {
			data.Missing = append(data.Missing, node)
		}
	}
}

// closeConnection ends the connection of a client.
func (p *page) closeConnection() {
	name, id, node := p.stateName(p.r.PathValue("name")), p.r.PostFormValue("id"), p.r.PostFormValue("node")
	var closed document.ClosedConnection
	err := p.post(connectionsPath+"/close", document.CloseConnection{Node: node, ID: id}, &closed)
	text := "The connection is closed. Its client may connect again."
	if !closed.Closed {
		text = "The connection was not open any more."
	}
	p.done(err, queueURL(name)+"/consumers", text, command("connections", "close", node, id))
}

// holders finds the holders of the first groups that a client holds.
func (p *page) holders(data *consumersPage) error {
	if !data.FIFO() {
		return nil
	}
	api, token := p.inspection(data.Name), ""
	for read := 0; read < groupsScanned; read += groupsShown {
		out, err := api.ListGroups(p.r.Context(), &seriatimpb.ListGroupsRequest{
			Queue: p.called(data.Name), PageSize: groupsShown, PageToken: token,
		})
		if err != nil {
			return err
		}
		for _, g := range out.GetGroups() {
			held := g.GetState() == seriatimpb.GroupState_GROUP_STATE_IN_FLIGHT || g.GetState() == seriatimpb.GroupState_GROUP_STATE_SESSION
			if !held {
				continue
			}
			one, err := api.GetGroup(p.r.Context(), &seriatimpb.GetGroupRequest{Queue: p.called(data.Name), GroupId: g.GetGroupId()})
			if err != nil {
				return err
			}
			data.Holders = append(data.Holders, document.Holding{
				Group: one.GetGroupId(), MessageID: one.GetFirstMessageId(), Node: one.GetHolder().GetNode(),
				Address: one.GetHolder().GetAddress(), AccessKey: one.GetHolder().GetAccessKey(), SinceMs: one.GetHolder().GetSinceMs(),
				UntilMs: one.GetUntilMs(),
			})
			if len(data.Holders) >= consumersMax {
				return nil
			}
		}
		if token = out.GetNextPageToken(); token == "" {
			return nil
		}
	}
	return nil
}
