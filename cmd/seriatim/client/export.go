package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/transfer"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
)

// exportFlags holds the flags of msg export.
type exportFlags struct {
	from  string
	again bool
	many  rateFlags
}

func exportCommand(o *options) *cobra.Command {
	f := &exportFlags{}
	c := &cobra.Command{
		Use: "export QUEUE [FILE]", Short: "Write the messages of a queue to a file, one JSON object a line",
		Args: arguments.OptionalLast("QUEUE", "FILE"),
		Long: "Write the messages of a queue to a file, one JSON object a line, or to standard output. The command peeks: the queue\n" +
			"does not change, and no receive is counted. It writes messages in any state, in the order of their sequence numbers,\n" +
			"until it reaches the end of the queue.\n\n" +
			"An existing file is not overwritten. With --continue, the command appends the messages after the last line of the file.",
		Example: "  seriatim msg export orders.fifo orders.jsonl\n" +
			"  seriatim msg export orders.fifo orders.jsonl --continue   # after an interruption\n" +
			"  seriatim msg export jobs | gzip > jobs.jsonl.gz",
		ValidArgsFunction: o.completeQueueAndFile,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			return f.export(cmd, n, p, args)
		}),
	}
	c.Flags().StringVar(&f.from, "from", "", "sequence number to begin at")
	c.Flags().BoolVar(&f.again, "continue", false, "append the messages after the last line of FILE")
	c.MarkFlagsMutuallyExclusive("from", "continue")
	f.many.bind(c)
	return c
}

// completeQueueAndFile offers queues, then files.
func (o *options) completeQueueAndFile(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 1 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return o.completeQueues(cmd, args, typed)
}

// target opens the file of an export. from is the sequence number to begin at.
func (f *exportFlags) target(cmd *cobra.Command, args []string) (out io.Writer, from uint64, lines int64, done func() error, err error) {
	if f.from != "" {
		if from, err = parseSequence("--from", f.from); err != nil {
			return nil, 0, 0, nil, err
		}
	}
	if len(args) == 1 || args[1] == "-" {
		if f.again {
			return nil, 0, 0, nil, exit.New(exit.Usage, errors.New("--continue needs FILE"), "")
		}
		return cmd.OutOrStdout(), from, 0, func() error { return nil }, nil
	}
	var file *os.File
	if f.again {
		file, from, lines, err = transfer.Continue(args[1])
	} else if file, err = os.OpenFile(args[1], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); errors.Is(err, os.ErrExist) {
		err = exit.New(exit.Usage, fmt.Errorf("%s exists", args[1]), "add --continue to append to it, or choose another name")
	}
	if err != nil {
		return nil, 0, 0, nil, err
	}
	return file, from, lines, func() error { return errors.Join(file.Sync(), file.Close()) }, nil
}

func (f *exportFlags) export(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
	show, err := p.progress(f.many.report)
	if err != nil {
		return err
	}
	pace, err := f.many.pace()
	if err != nil {
		return err
	}
	q, err := describe(cmd.Context(), n, qualifiedOf(args[0])) // a missing queue must not leave a file
	if err != nil {
		return err
	}
	out, from, lines, done, err := f.target(cmd, args)
	if err != nil {
		return err
	}
	total := q.Visible + q.InFlight + q.Delayed + q.Deferred
	begun := time.Now()
	count, err := transfer.Export(cmd.Context(), n, qualifiedOf(args[0]), from, pace, out,
		func(count int64) { show.Count("exported", lines+count, total) })
	show.End()
	if err = errors.Join(err, done()); err != nil {
		return interruptedExport(cmd.Context(), err, args, count)
	}
	seconds := time.Since(begun).Seconds()
	text := fmt.Sprintf("exported %s of %s in %.1f s, %.0f/s", plural.Count(count, "message", "messages"), q.Name, seconds,
		float64(count)/max(seconds, 0.001))
	if len(args) == 1 || args[1] == "-" { // standard output has only the messages
		p.say("%s", text)
		return nil
	}
	return p.done(map[string]any{"queue": q.Name, "file": args[1], "exported": count, "lines": lines + count, "seconds": seconds},
		"%s", text)
}

// interruptedExport adds the way to continue to an error.
func interruptedExport(ctx context.Context, err error, args []string, count int64) error {
	if count == 0 || len(args) == 1 || args[1] == "-" {
		return err
	}
	code := exit.CodeOf(exit.Wrap(err))
	if ctx.Err() != nil {
		code, err = exit.Interrupted, errors.New("interrupted")
	}
	return exit.New(code, fmt.Errorf("%w, after %s", err, plural.Count(count, "message", "messages")),
		"seriatim msg export "+args[0]+" "+args[1]+" --continue appends the rest")
}

// importFlags holds the flags of msg import.
type importFlags struct {
	newIDs  bool
	restart bool
	many    rateFlags
}

func importCommand(o *options) *cobra.Command {
	f := &importFlags{}
	c := &cobra.Command{
		Use: "import QUEUE [FILE]", Short: "Send the messages of a file that seriatim msg export wrote",
		Args: arguments.OptionalLast("QUEUE", "FILE"),
		Long: "Send the messages of a file that seriatim msg export wrote, or of standard input. Messages of one group keep their\n" +
			"order, those of different groups may change places. Messages get new message ids and sequence numbers, and keep body,\n" +
			"attributes, group and deduplication id.\n\n" +
			"A FIFO queue drops messages whose deduplication ids it remembers. If several lines have one id, add\n" +
			"--new-deduplication-ids: each message then gets the id of the exported message as its deduplication id.\n\n" +
			"While it runs, the command keeps a file FILE.QUEUE.importing beside FILE. After an interruption, run the same command\n" +
			"again: it skips the lines that were answered. If the tool was killed, up to a second of lines may be sent again, which\n" +
			"only a standard queue stores twice.",
		Example: "  seriatim msg import orders.fifo orders.jsonl\n" +
			"  seriatim msg import orders.fifo orders.jsonl --new-deduplication-ids --rate 1000\n" +
			"  gunzip < jobs.jsonl.gz | seriatim msg import jobs",
		ValidArgsFunction: o.completeQueueAndFile,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			return f.load(cmd, n, p, args)
		}),
	}
	c.Flags().BoolVar(&f.newIDs, "new-deduplication-ids", false, "give each message a deduplication id of its own")
	c.Flags().BoolVar(&f.restart, "restart", false, "begin at the first line, even after an interruption")
	f.many.bind(c)
	return c
}

func (f *importFlags) load(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
	show, err := p.progress(f.many.report)
	if err != nil {
		return err
	}
	pace, err := f.many.pace()
	if err != nil {
		return err
	}
	q, err := describe(cmd.Context(), n, qualifiedOf(args[0]))
	if err != nil {
		return err
	}
	i := &transfer.Import{
		Queue: qualifiedOf(args[0]), Target: transfer.Target{ARN: q.Attributes["QueueArn"], Created: q.Attributes["CreatedTimestamp"]},
		NewID: f.newIDs, Pace: pace, Refused: func(line int64, err error) { p.say("not sent: line %d: %s", line, err) },
	}
	total := int64(0)
	i.Report = func(answered int64) { show.Count("imported", answered, total) }
	if len(args) == 1 || args[1] == "-" {
		if i.In, err = stdin(cmd, "file", len(args) > 1); err != nil {
			return err
		}
	} else {
		file, err := os.Open(args[1])
		if err != nil {
			return exit.New(exit.Usage, err, "")
		}
		defer func() { _ = file.Close() }() // it is only read
		if total, err = transfer.CountLines(file); err != nil {
			return err
		}
		i.In, i.StateFile = file, transfer.StateName(args[1], i.Queue)
		if err := f.resume(p, i, file); err != nil {
			return err
		}
	}
	begun := time.Now()
	out, err := i.Run(cmd.Context(), n)
	show.End()
	if err != nil && i.StateFile != "" {
		p.say("run the same command again to continue")
	}
	return p.sentMany(out, begun, err)
}

// resume loads the state of an interrupted import of a file.
func (f *importFlags) resume(p *printer, i *transfer.Import, file *os.File) error {
	if f.restart {
		if err := os.Remove(i.StateFile); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	skipped, err := i.Load(file)
	if skipped > 0 {
		p.say("continuing after line %d of %s", skipped, file.Name())
	}
	return err
}
