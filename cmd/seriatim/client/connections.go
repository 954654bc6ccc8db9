package client

import (
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

func connectionsCommand(o *options) *cobra.Command {
	return group("connections", "List and close the open connections of all nodes",
		"List and close the open connections of all nodes: those of clients and those of operators.",
		connectionsListCommand(o), connectionsCloseCommand(o))
}

func connectionsListCommand(o *options) *cobra.Command {
	var node, port, queue, key, find string
	c := &cobra.Command{
		Use: "list", Short: "List open connections with their last requests", Args: arguments.None,
		Long: "List the open connections of all nodes, with their clients and their last requests. WAITING counts the requests without\n" +
			"an answer, such as long polls. A node lists its 1,000 connections with the newest requests.",
		Example: "  seriatim connections list --queue orders.fifo\n" +
			"  seriatim connections list --port client -o json | jq '.connections[] | select(.waiting > 0)'",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
			query := url.Values{}
			for name, value := range map[string]string{"node": node, "port": port, "queue": queue, "accessKey": key, "find": find} {
				if value != "" {
					query.Set(name, value)
				}
			}
			var list document.Connections
			if err := w.get(cmd.Context(), "/v1/connections", query, &list); err != nil {
				return err
			}
			p.missing(list.Missing)
			if list.Untracked > 0 {
				p.say("%d more connections are open", list.Untracked)
			}
			return p.print(list, func() table {
				t := table{heading: []string{"NODE", "ID", "PORT", "ADDRESS", "PROTOCOL", "KEY", "LAST ACTION", "QUEUE", "REQUESTS",
					"WAITING", "LAST REQUEST", "USER AGENT"}}
				for i := range list.Connections {
					c := &list.Connections[i]
					t.add(c.Node, c.ID, c.Port, c.Address, orDash(c.Protocol), orDash(visible(c.AccessKey)),
						orDash(visible(c.Action)), orDash(visible(c.Queue)), decimal(c.Requests), decimal(c.Waiting),
						untilText(c.LastRequestMs), orDash(visible(c.UserAgent)))
				}
				return t
			})
		}),
	}
	f := c.Flags()
	f.StringVar(&node, "node", "", "only connections of this node, by its name or id")
	f.StringVar(&port, "port", "", "only connections of this port: client or admin")
	f.StringVar(&queue, "queue", "", "only connections whose last request was about this queue or topic")
	f.StringVar(&key, "key", "", "only connections whose last request had this access key id")
	f.StringVar(&find, "find", "", "only connections with this text in the address or the user agent")
	complete(c, "port", "client", "admin")
	return c
}

func connectionsCloseCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "close NODE ID", Short: "Close an open connection", Args: arguments.Exactly("NODE", "ID"),
		Long: "Close an open connection of a node. The client may connect again. Requests without an answer end; those that change\n" +
			"something may still take effect. seriatim connections list shows NODE and ID.",
		Example: "  seriatim connections close n1 17",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			var closed document.ClosedConnection
			err := w.post(cmd.Context(), "/v1/connections/close", document.CloseConnection{Node: args[0], ID: args[1]}, &closed)
			if err != nil {
				return err
			}
			return p.done(map[string]any{"node": closed.Node, "id": closed.ID, "closed": true}, "closed %s of %s", closed.ID, closed.Node)
		}),
	}
}

// missing reports the nodes that did not answer.
func (p *printer) missing(nodes []string) {
	if len(nodes) > 0 {
		p.say("without an answer: %s", strings.Join(nodes, ", "))
	}
}
