package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
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
	return group("log", "Show the log records of all nodes", "Show the log records of all nodes.",
		tailCommand(o, "/v1/logs", &cobra.Command{
			Short: "Show the newest log records of all nodes, and follow them",
			Long: "Show the newest log records of all nodes, in the order of time. Each node keeps its newest records in memory, up to\n" +
				"1 MiB. The setting log-level decides which records exist.",
			Example: "  seriatim log tail -f --level warn\n  seriatim log tail --since 15m --find term",
		}))
}

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
		complete(c, "level", "debug", "info", "warn", "error")
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
	if p.format == formatJSON {
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.out, "%s\n", text)
		return err
	}
	var line strings.Builder
	_, _ = fmt.Fprintf(&line, "%s %-5s %s %s", time.UnixMilli(r.TimeMs).UTC().Format("2006-01-02T15:04:05.000Z"), r.Level, r.Node,
		visible(r.Message)) // a builder never fails
	for _, a := range r.Attributes {
		if a.Name == "node" || a.Value == "" {
			continue
		}
		value := visible(a.Value)
		if strings.ContainsAny(value, " \"=") {
			value = strconv.Quote(value)
		}
		line.WriteString(" " + visible(a.Name) + "=" + value)
	}
	_, err := fmt.Fprintln(p.out, line.String())
	return err
}

// visible replaces characters that would change how a terminal shows the others: control characters
// and those for the direction of text.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return '\uFFFD'
		}
		return r
	}, text)
}
