package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// followPause is the time between two questions for new records.
const followPause = time.Second

func auditCommand(o *options) *cobra.Command {
	return group("audit", "Show the audit records of all nodes", "Show the audit records of all nodes.",
		tailCommand(o, "/v1/audit", &cobra.Command{
			Short: "Show the newest audit records of all nodes, and follow them",
			Long: "Show the newest audit records of all nodes, in the order of time. Each node keeps its newest records in memory, up\n" +
				"to 1 MiB. The audit log itself has all of them.",
			Example: "  seriatim audit tail --since 1h --find DeleteQueue\n  seriatim audit tail -f -o json",
		}))
}

func logCommand(o *options) *cobra.Command {
	return group("log", "Show the log records of all nodes", "Show the log records of all nodes, and change the log level.",
		logLevelCommand(o), tailCommand(o, "/v1/logs", &cobra.Command{
			Short: "Show the newest log records of all nodes, and follow them",
			Long: "Show the newest log records of all nodes, in the order of time. Each node keeps its newest records in memory, up to\n" +
				"1 MiB. The log level decides which records exist.",
			Example: "  seriatim log tail -f --level warn\n  seriatim log tail --since 15m --find term",
		}))
}

func logLevelCommand(o *options) *cobra.Command {
	node := ""
	c := &cobra.Command{
		Use: "level [LEVEL]", Short: "Show or change the log level of running nodes",
		Long: "Show the log level of all nodes, or change it until they restart. The setting log-level is the level after a start.\n" +
			"LEVEL is debug, info, warn or error.",
		Example: "  seriatim log level\n  seriatim log level debug --node n2",
		Args:    arguments.Optional("LEVEL"), ValidArgs: logLevels,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) (err error) {
			var found document.LogLevels
			switch {
			case len(args) == 0 && node != "":
				return exit.New(exit.Usage, errors.New("--node chooses the node to change"), "give a level, such as debug")
			case len(args) == 0:
				err = w.get(cmd.Context(), "/v1/logs/level", nil, &found)
			default:
				err = w.post(cmd.Context(), "/v1/logs/level", document.SetLogLevel{Node: node, Level: args[0]}, &found)
			}
			if err != nil {
				return err
			}
			p.missing(found.Missing)
			return p.print(found, func() table {
				t := table{heading: []string{"NODE", "LEVEL"}}
				for _, n := range found.Nodes {
					t.add(n.Node, n.Level)
				}
				return t
			})
		}),
	}
	c.Flags().StringVar(&node, "node", "", "change only this node, by its name or id")
	return c
}

func clusterSettingsCommand(o *options) *cobra.Command {
	all := false
	c := &cobra.Command{
		Use: "settings", Short: "Compare the settings of the nodes", Args: arguments.None,
		Long: "Show the settings that differ between nodes. Settings that every node has for itself, such as addresses and files,\n" +
			"are left out. With --all the table has each setting that is not at its default.",
		Example: "  seriatim cluster settings\n  seriatim cluster settings --all -o json",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
			var found document.Settings
			if err := w.get(cmd.Context(), "/v1/settings", nil, &found); err != nil {
				return err
			}
			p.missing(found.Missing)
			t := table{heading: []string{"SETTING", "NODE", "VALUE", "DEFAULT"}}
			for _, s := range found.Settings {
				for _, v := range s.Values {
					if s.Differs || all && v.Value != s.Default {
						t.add(s.Name, v.Node, orDash(v.Value), orDash(s.Default))
					}
				}
			}
			if len(t.rows) == 0 && p.format.ForPeople() {
				p.say("the nodes that answer have the same settings")
				return nil
			}
			return p.print(found, func() table { return t })
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "show every setting that is not at its default")
	return c
}

// logLevels are the levels of the log.
var logLevels = []string{"debug", "info", "warn", "error"}

// tailCommand completes a command that shows records.
func tailCommand(o *options, path string, c *cobra.Command) *cobra.Command {
	var follow bool
	var since, find, level string
	limit := 20
	c.Use, c.Args = "tail", arguments.None
	f := c.Flags()
	f.BoolVarP(&follow, "follow", "f", false, "go on with new records until interrupted")
	f.IntVarP(&limit, "limit", "n", limit, "most records to begin with, 1 to 1000")
	f.StringVar(&since, "since", "", "only records of this last time, such as 15m")
	f.StringVar(&find, "find", "", "only records with this text")
	if path == "/v1/logs" {
		f.StringVar(&level, "level", "", "lowest level: debug, info, warn or error")
		complete(c, "level", logLevels...)
	}
	c.RunE = o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
		query := url.Values{"limit": {strconv.Itoa(limit)}}
		for name, value := range map[string]string{"since": since, "find": find, "level": level} {
			if value != "" {
				query.Set(name, value)
			}
		}
		return w.tail(cmd.Context(), p, path, query, follow)
	})
	return c
}

// tail prints records, and with follow those that come until ctx ends.
func (w *wire) tail(ctx context.Context, p *printer, path string, query url.Values, follow bool) error {
	reported := ""
	for {
		var page document.Records
		if err := w.get(ctx, path, query, &page); err != nil {
			if follow && ctx.Err() != nil {
				return nil //nolint:nilerr // the user ends the command
			}
			return err
		}
		if now := strings.Join(page.Missing, ", "); now != reported {
			p.missing(page.Missing)
			reported = now
		}
		for i := range page.Records {
			if err := p.record(&page.Records[i]); err != nil {
				return err
			}
		}
		if !follow {
			return nil
		}
		query.Set("after", page.After)
		query.Set("limit", "1000")
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followPause):
		}
	}
}

// record prints one record on one line.
func (p *printer) record(r *document.Record) error {
	if p.format.OfDocument() {
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.out, "%s\n", text)
		return err
	}
	var line strings.Builder
	_, _ = fmt.Fprintf(&line, "%s %-5s %s %s", time.UnixMilli(r.TimeMs).UTC().Format("2006-01-02T15:04:05.000Z"), r.Level, r.Node,
		output.Harmless(r.Message)) // a builder never fails
	for _, a := range r.Attributes {
		if a.Name == "node" || a.Value == "" {
			continue
		}
		value := output.Harmless(a.Value)
		if strings.ContainsAny(value, " \"=") {
			value = strconv.Quote(value)
		}
		line.WriteString(" " + output.Harmless(a.Name) + "=" + value)
	}
	_, err := fmt.Fprintln(p.out, line.String())
	return err
}

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
					t.add(c.Node, c.ID, c.Port, c.Address, orDash(c.Protocol), orDash(output.Harmless(c.AccessKey)),
						orDash(output.Harmless(c.Action)), orDash(output.Harmless(c.Queue)), decimal(c.Requests), decimal(c.Waiting),
						untilText(c.LastRequestMs), orDash(output.Harmless(c.UserAgent)))
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
