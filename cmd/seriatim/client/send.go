package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/progress"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/transfer"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
)

// sendFlags holds the flags of msg send.
type sendFlags struct {
	message messageFlags
	delay   int
	file    string
	lines   bool
	count   int64
	many    rateFlags
}

// rateFlags holds the flags of commands that handle many messages.
type rateFlags struct {
	rate   float64
	report string
}

func (f *rateFlags) bind(c *cobra.Command) {
	c.Flags().Float64Var(&f.rate, "rate", 0, "most messages a second (default: as fast as possible)")
	c.Flags().StringVar(&f.report, "progress", progress.Auto, progress.Help)
	complete(c, "progress", progress.Forms...)
}

// pace checks the rate.
func (f *rateFlags) pace() (*transfer.Pace, error) {
	if f.rate < 0 {
		return nil, exit.New(exit.Usage, fmt.Errorf("--rate %v is below zero", f.rate), "write the most messages a second, such as 500")
	}
	return transfer.NewPace(f.rate), nil
}

func sendCommand(o *options) *cobra.Command {
	f := &sendFlags{}
	c := &cobra.Command{
		Use: "send QUEUE [BODY]", Short: "Send a message, or many",
		Long: "Send a message. Without BODY, or with -, the body is read from standard input. --file reads it from a file. A body\n" +
			"may be any bytes. SQS clients receive bytes that are not text in base64.\n\n" +
			"With --lines, each line of the file or of standard input is a message, but for empty ones. With --count, the message is\n" +
			"sent so many times. In both cases, $i in the body, in --group and in --deduplication-id becomes the number of the message,\n" +
			"from 1.",
		Example: "  seriatim msg send orders.fifo '{\"order\":17}' --group customer-9 --deduplication-id order-17\n" +
			"  seriatim msg send jobs - --attribute kind=resize --attribute width:Number=640 < job.json\n" +
			"  seriatim msg send orders.fifo --file orders.txt --lines --group import --deduplication-id 'orders.txt-$i'\n" +
			"  seriatim msg send orders.fifo 'test $i' --count 1000 --rate 50 --group 'g$i' --deduplication-id 'test-$i'",
		Args:              arguments.OptionalLast("QUEUE", "BODY"),
		ValidArgsFunction: o.completeQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			if f.lines || cmd.Flags().Changed("count") {
				return f.sendMany(cmd, n, p, args)
			}
			return f.sendOne(cmd, n, p, args)
		}),
	}
	f.message.bind(c, "message group id, required on FIFO queues")
	f.message.bindTrace(c)
	c.Flags().IntVar(&f.delay, "delay", 0, "seconds until the message can be received, 0 to 900")
	c.Flags().StringVar(&f.file, "file", "", "file with the body; -: standard input")
	c.Flags().BoolVar(&f.lines, "lines", false, "send each line as a message")
	c.Flags().Int64Var(&f.count, "count", 1, "how many messages to send")
	f.many.bind(c)
	c.MarkFlagsMutuallyExclusive("lines", "count")
	return c
}

// input returns the arguments with the file in place of standard input, and closes it with the
// returned function.
func (f *sendFlags) input(cmd *cobra.Command, args []string) (io.Reader, func(), error) {
	if f.file != "" && len(args) > 1 {
		return nil, nil, exit.New(exit.Usage, errors.New("BODY and --file are given"), "give only one of them")
	}
	if f.file != "" && f.file != "-" {
		file, err := os.Open(f.file)
		if err != nil {
			return nil, nil, exit.New(exit.Usage, fmt.Errorf("--file: %w", err), "")
		}
		return file, func() { _ = file.Close() }, nil // it is only read
	}
	in, err := stdin(cmd, "body", f.file == "-" || len(args) > 1)
	return in, func() {}, err
}

// body reads the whole body.
func (f *sendFlags) body(cmd *cobra.Command, args []string) (string, error) {
	if f.file == "" || f.file == "-" && len(args) == 1 {
		return contentOf(cmd, "body", append(args[:len(args):len(args)], f.dash()...))
	}
	in, done, err := f.input(cmd, args)
	if err != nil {
		return "", err
	}
	defer done()
	return bodyFrom(in, "body")
}

// dash returns the argument that asks for standard input, if the user named it as the file.
func (f *sendFlags) dash() []string {
	if f.file == "-" {
		return []string{"-"}
	}
	return nil
}

func (f *sendFlags) sendOne(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
	body, err := f.body(cmd, args)
	if err != nil {
		return err
	}
	m, err := f.messageOf(cmd, body)
	if err != nil {
		return err
	}
	return printSent(cmd, n, p, func(ctx context.Context, c *api.Client) ([]*api.Result, error) {
		return c.Send(ctx, qualifiedOf(args[0]), m)
	})
}

func (f *sendFlags) messageOf(cmd *cobra.Command, body string) (*api.Message, error) {
	m, err := f.message.message(cmd, body)
	if err == nil && cmd.Flags().Changed("delay") {
		m.DelaySeconds = number(f.delay)
	}
	return m, err
}

// sendMany sends the lines of a file, or one message several times.
func (f *sendFlags) sendMany(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
	show, err := p.progress(f.many.report)
	if err != nil {
		return err
	}
	pace, err := f.many.pace()
	if err != nil {
		return err
	}
	if f.count < 1 {
		return exit.New(exit.Usage, fmt.Errorf("--count %d is below 1", f.count), "")
	}
	body, total, done, err := f.bodies(cmd, args)
	if err != nil {
		return err
	}
	defer done()
	model, err := f.messageOf(cmd, "")
	if err != nil {
		return err
	}
	sent := int64(0)
	feed := &transfer.Feed{
		Queue: qualifiedOf(args[0]), Pace: pace,
		Next: func() (*transfer.Outgoing, error) {
			text, err := body()
			if errors.Is(err, io.EOF) {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			sent++
			return &transfer.Outgoing{Message: numbered(model, text, sent), Number: sent}, nil
		},
		Done: func(o *transfer.Outgoing, refusal error) {
			if refusal != nil {
				p.say("not sent: message %d: %s", o.Number, refusal)
			}
		},
		Report: func(answered int64) { show.Count("sent", answered, total) },
	}
	begun := time.Now()
	out, err := feed.Run(cmd.Context(), n)
	show.End()
	return p.sentMany(out, begun, err)
}

// bodies returns a function that returns one body after another, and io.EOF at the end, and their
// number if it is known.
func (f *sendFlags) bodies(cmd *cobra.Command, args []string) (body func() (string, error), total int64, done func(), err error) {
	if !f.lines {
		text, err := f.body(cmd, args)
		left := f.count
		return func() (string, error) {
			if left--; left < 0 {
				return "", io.EOF
			}
			return text, nil
		}, f.count, func() {}, err
	}
	if len(args) > 1 && args[1] != "-" {
		return nil, 0, nil, exit.New(exit.Usage, errors.New("BODY and --lines are given"), "name the file with --file")
	}
	in, done, err := f.input(cmd, args)
	if err != nil {
		return nil, 0, nil, err
	}
	lines, line := bufio.NewScanner(in), 0 // the last line that was read
	lines.Buffer(nil, bodyBytesMax+1)
	return func() (string, error) {
		for lines.Scan() {
			line++
			if lines.Text() != "" {
				return lines.Text(), nil
			}
		}
		if errors.Is(lines.Err(), bufio.ErrTooLong) {
			return "", exit.New(exit.Usage, fmt.Errorf("line %d is larger than the limit of 1 MiB", line+1), "")
		}
		if lines.Err() != nil {
			return "", fmt.Errorf("read line %d: %w", line+1, lines.Err())
		}
		return "", io.EOF
	}, 0, done, nil
}

// numbered returns a copy of a message with a body, in which $i is the number of the message.
func numbered(model *api.Message, body string, i int64) *api.Message {
	replace := strings.NewReplacer("$i", strconv.FormatInt(i, 10)).Replace
	text := func(s *string) *string {
		if s == nil {
			return nil
		}
		return new(replace(*s))
	}
	m := &api.Message{
		Attributes: model.GetAttributes(), TraceHeader: model.GetTraceHeader(), DelaySeconds: model.DelaySeconds,
		GroupId: text(model.GroupId), DeduplicationId: text(model.DeduplicationId),
	}
	api.SetContent(m, replace(body))
	return m
}

// sentMany prints the counts of many sends. err ended them early.
func (p *printer) sentMany(out transfer.Outcome, begun time.Time, err error) error {
	seconds := time.Since(begun).Seconds()
	if err != nil && out == (transfer.Outcome{}) {
		return err
	}
	doc := map[string]any{"sent": out.Sent, "duplicates": out.Duplicates, "refused": out.Refused, "seconds": seconds}
	printed := p.print(doc, func() table {
		return table{heading: []string{"SENT", "DUPLICATES", "REFUSED", "SECONDS", "PER SECOND"}, rows: [][]string{{
			decimal(out.Sent), decimal(out.Duplicates), decimal(out.Refused), fmt.Sprintf("%.1f", seconds),
			fmt.Sprintf("%.0f", float64(out.Sent+out.Duplicates)/max(seconds, 0.001)),
		}}}
	})
	switch {
	case err != nil:
		return err
	case printed != nil:
		return printed
	case out.Refused > 0:
		return exit.New(exit.Partial, fmt.Errorf("%d of %d messages were refused", out.Refused, out.Sent+out.Duplicates+out.Refused), "")
	}
	return nil
}
