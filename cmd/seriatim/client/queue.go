package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
	"github.com/seriatimq/seriatim/queue/attributes"
)

// queueInfo is one queue in JSON output.
type queueInfo struct {
	Name       string            `json:"name"`
	URL        string            `json:"url"`
	Type       string            `json:"type"` // fifo or standard
	Visible    int64             `json:"visible"`
	InFlight   int64             `json:"inFlight"`
	Delayed    int64             `json:"delayed"`
	Deferred   int64             `json:"deferred"`
	Attributes map[string]string `json:"attributes,omitempty"`
	// Defaults holds the attributes that the server does not list because they were never set.
	Defaults map[string]string `json:"defaults,omitempty"`
	Tags     map[string]string `json:"tags,omitempty"`
}

func queueCommand(o *options) *cobra.Command {
	return group("queue", "Create, list, show, change, purge and delete queues",
		"Create, list, show, change, purge and delete queues.\n\nNAME is a queue name or a queue URL.",
		queueListCommand(o), queueCreateCommand(o), queueShowCommand(o), queueUpdateCommand(o), queueTagCommand(o), queueUntagCommand(o),
		queueDeleteCommand(o), queuePurgeCommand(o))
}

func queueCreateCommand(o *options) *cobra.Command {
	var given, tags []string
	c := &cobra.Command{
		Use: "create NAME", Short: "Create a queue", Args: arguments.Exactly("NAME"),
		Long: "Create a queue. A name that ends in .fifo makes a FIFO queue.\n\n" +
			"Attributes are those of the SQS API, such as VisibilityTimeout=60, and extensions. The page\n" +
			"docs/reference/queue-attributes.md describes them: " + strings.Join(queueAttributes(), ", ") + ".\n\n" +
			"Creating a queue that exists with the same attributes succeeds.",
		Example: "  seriatim queue create orders.fifo --attribute ContentBasedDeduplication=true\n" +
			"  seriatim queue create jobs --attribute VisibilityTimeout=120 --tag team=billing",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			attrs, err := flagPairs("attribute", given)
			if err != nil {
				return err
			}
			tagged, err := flagPairs("tag", tags)
			if err != nil {
				return err
			}
			if _, set := attrs["FifoQueue"]; !set && strings.HasSuffix(args[0], ".fifo") {
				attrs["FifoQueue"] = "true"
			}
			in := map[string]any{"QueueName": args[0], "Attributes": attrs, "tags": tagged}
			var out struct{ QueueUrl string } //nolint:revive // the wire's spelling
			if err := w.call(cmd.Context(), "CreateQueue", in, &out, 0); err != nil {
				return unknownAttribute(err, attrs, queueAttributes())
			}
			return p.print(map[string]string{"name": nameOf(out.QueueUrl), "url": out.QueueUrl}, func() table {
				return table{rows: [][]string{{out.QueueUrl}}}
			})
		}),
	}
	c.Flags().StringArrayVarP(&given, "attribute", "a", nil, "an attribute as Name=Value, may be repeated")
	completeAttributes(c, queueAttributes())
	c.Flags().StringArrayVarP(&tags, "tag", "t", nil, "a tag as key=value, may be repeated")
	return c
}

func queueShowCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show attributes, counts and tags of a queue", Args: arguments.Exactly("NAME"),
		Example:           "  seriatim queue show orders.fifo\n  seriatim queue show orders.fifo -o json | jq .attributes.QueueArn",
		ValidArgsFunction: o.completeQueues,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			u, err := w.queueURL(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			q, err := w.describe(cmd.Context(), u)
			if err != nil {
				return err
			}
			var tags struct{ Tags map[string]string }
			if err := w.call(cmd.Context(), "ListQueueTags", map[string]string{"QueueUrl": u}, &tags, 0); err != nil {
				return err
			}
			q.Tags, q.Defaults = tags.Tags, attributes.Unlisted(q.Type == "fifo", q.Attributes)
			return p.print(q, func() table {
				t := table{rows: [][]string{{"Name", q.Name}, {"URL", q.URL}}}
				shown := maps.Clone(q.Defaults)
				for name, value := range shown {
					shown[name] = value + " (default)"
				}
				maps.Copy(shown, q.Attributes)
				for _, k := range slices.Sorted(maps.Keys(shown)) {
					t.add(k, readable(k, shown[k]))
				}
				for _, k := range slices.Sorted(maps.Keys(q.Tags)) {
					t.add("Tag "+k, q.Tags[k])
				}
				return t
			})
		}),
	}
}

// readable formats attributes that are times.
func readable(name, value string) string {
	seconds, err := strconv.ParseInt(value, 10, 64)
	if err != nil || !strings.HasSuffix(name, "Timestamp") {
		return value
	}
	return time.Unix(seconds, 0).UTC().Format(time.RFC3339)
}

func queueDeleteCommand(o *options) *cobra.Command {
	return destroyCommand(o, "Delete a queue with all its messages", "DeleteQueue", "delete", "deleted")
}

func queuePurgeCommand(o *options) *cobra.Command {
	return destroyCommand(o, "Delete all messages of a queue", "PurgeQueue", "purge", "purged")
}

// destroyCommand makes the command verb for an action that deletes the messages of a queue.
func destroyCommand(o *options, short, action, verb, past string) *cobra.Command {
	q := &question{}
	c := &cobra.Command{
		Use: verb + " NAME", Short: short, Args: arguments.Exactly("NAME"),
		Example:           "  seriatim queue " + verb + " orders.fifo --yes",
		ValidArgsFunction: o.completeQueues,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			return destroy(cmd, w, p, q, args[0], action, verb, past)
		}),
	}
	return q.of(c)
}

// destroy prints the message counts, asks for the name of the queue, and runs the action.
func destroy(cmd *cobra.Command, w *wire, p *printer, ask *question, name, action, verb, past string) error {
	u, err := w.queueURL(cmd.Context(), name)
	if err != nil {
		return err
	}
	q, err := w.describe(cmd.Context(), u)
	if err != nil {
		return err
	}
	effect := fmt.Sprintf("%s has %d visible, %d in flight, %d deferred and %s.", q.Name, q.Visible, q.InFlight, q.Deferred,
		plural.Count(q.Delayed, "delayed message", "delayed messages"))
	if err := ask.ask(cmd, p, effect, "the name of the queue to "+verb, q.Name); err != nil {
		return err
	}
	if err := w.call(cmd.Context(), action, map[string]string{"QueueUrl": u}, nil, 0); err != nil {
		return err
	}
	return p.done(map[string]any{"name": q.Name, past: true}, "%s %s", past, q.Name)
}

func (w *wire) describe(ctx context.Context, queueURL string) (queueInfo, error) {
	var out struct{ Attributes map[string]string }
	in := map[string]any{"QueueUrl": queueURL, "AttributeNames": []string{"All"}}
	if err := w.call(ctx, "GetQueueAttributes", in, &out, 0); err != nil {
		return queueInfo{}, err
	}
	q := queueInfo{Name: nameOf(queueURL), URL: queueURL, Type: typeOf(queueURL), Attributes: out.Attributes}
	for _, count := range []struct {
		name string
		to   *int64
	}{
		{"ApproximateNumberOfMessages", &q.Visible}, {"ApproximateNumberOfMessagesNotVisible", &q.InFlight},
		{"ApproximateNumberOfMessagesDelayed", &q.Delayed}, {"ApproximateNumberOfMessagesDeferred", &q.Deferred},
	} {
		text, listed := out.Attributes[count.name]
		if !listed && count.to == &q.Deferred {
			continue // there are none
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return queueInfo{}, fmt.Errorf("%s of %s: %w", count.name, q.Name, err)
		}
		*count.to = n
	}
	q.InFlight -= q.Deferred
	return q, nil
}

// typeOf returns fifo or standard, by the name.
func typeOf(queueURL string) string {
	if strings.HasSuffix(queueURL, ".fifo") {
		return "fifo"
	}
	return "standard"
}

func (w *wire) listQueues(ctx context.Context, prefix string) ([]string, error) {
	var urls []string
	in := map[string]any{"MaxResults": 1000}
	if prefix != "" {
		in["QueueNamePrefix"] = prefix
	}
	for {
		var out struct {
			QueueUrls []string
			NextToken string
		}
		if err := w.call(ctx, "ListQueues", in, &out, 0); err != nil {
			return nil, err
		}
		urls = append(urls, out.QueueUrls...)
		if out.NextToken == "" {
			return urls, nil
		}
		in["NextToken"] = out.NextToken
	}
}

// queueURL returns the URL of a queue, by name or URL.
func (w *wire) queueURL(ctx context.Context, name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	var out struct{ QueueUrl string } //nolint:revive // the wire's spelling
	err := w.call(ctx, "GetQueueUrl", map[string]string{"QueueName": name}, &out, 0)
	return out.QueueUrl, err
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

func nameOf(queueURL string) string { return queueURL[strings.LastIndexByte(queueURL, '/')+1:] }

// qualifiedOf returns the name of a queue or topic for the native API and the admin port:
// ACCOUNT/NAME if text is a URL, an ARN or a name with an account, else the name.
func qualifiedOf(text string) string {
	before, name := "", text
	if at := strings.LastIndexAny(text, "/:"); at >= 0 {
		before, name = text[:at], text[at+1:]
	}
	owner := before[strings.LastIndexAny(before, "/:")+1:]
	if len(owner) != 12 || strings.Trim(owner, "0123456789") != "" {
		return name
	}
	return owner + "/" + name
}

// flagPairs parses the values name=value of a flag.
func flagPairs(flag string, list []string) (map[string]string, error) {
	return pairs("--"+flag, list, "write it as --"+flag+" name=value")
}

// pairs parses texts of the form name=value. what and hint are for errors.
func pairs(what string, list []string, hint string) (map[string]string, error) {
	m := make(map[string]string, len(list))
	for _, text := range list {
		k, v, ok := strings.Cut(text, "=")
		if !ok || k == "" {
			return nil, exit.New(exit.Usage, fmt.Errorf("%s %q has no name and value", what, text), hint)
		}
		if err := checkText(fmt.Sprintf("%s %q", what, text), text, ""); err != nil {
			return nil, err
		}
		m[k] = v
	}
	return m, nil
}

// stdin returns standard input. On a terminal it returns an error unless the user asked for it
// with -, because the argument was probably forgotten.
func stdin(cmd *cobra.Command, what string, asked bool) (io.Reader, error) {
	if f, ok := cmd.InOrStdin().(*os.File); ok && !asked {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return nil, exit.New(exit.Usage, errors.New(strings.ToUpper(what)+" is missing"),
				"give the "+what+" as an argument or on standard input")
		}
	}
	return arguments.Input(cmd), nil
}

func queueUpdateCommand(o *options) *cobra.Command {
	var given []string
	c := &cobra.Command{
		Use: "update NAME --attribute Name=Value", Short: "Change attributes of a queue", Args: arguments.Exactly("NAME"),
		Long: "Change attributes of a queue; all others stay as they are. An empty value removes a Policy or a RedrivePolicy.\n\n" +
			"seriatim queue show NAME prints the attributes.",
		Example: "  seriatim queue update orders.fifo --attribute VisibilityTimeout=120\n" +
			"  seriatim queue update jobs -a " +
			"'RedrivePolicy={\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:jobs-dead\",\"maxReceiveCount\":5}'\n" +
			"  seriatim queue update jobs -a RedrivePolicy=",
		ValidArgsFunction: o.completeQueues,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			attrs, err := flagPairs("attribute", given)
			if err != nil {
				return err
			}
			if len(attrs) == 0 {
				return exit.New(exit.Usage, errors.New("--attribute is missing"), "name the change: --attribute VisibilityTimeout=60")
			}
			err = w.changeQueue(cmd, p, args[0], "SetQueueAttributes", map[string]any{"Attributes": attrs}, "updated")
			return unknownAttribute(err, attrs, queueAttributes())
		}),
	}
	c.Flags().StringArrayVarP(&given, "attribute", "a", nil, "an attribute as Name=Value, may be repeated")
	completeAttributes(c, queueAttributes())
	return c
}

func queueTagCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "tag NAME KEY=VALUE...", Short: "Add tags to a queue, or change them", Args: arguments.AtLeast("NAME", "KEY=VALUE"),
		Example:           "  seriatim queue tag orders.fifo team=billing stage=production",
		ValidArgsFunction: o.completeQueues,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			tags, err := pairs("the tag", args[1:], "usage: "+cmd.UseLine())
			if err != nil {
				return err
			}
			return w.changeQueue(cmd, p, args[0], "TagQueue", map[string]any{"Tags": tags}, "tagged")
		}),
	}
}

func queueUntagCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "untag NAME KEY...", Short: "Remove tags from a queue", Args: arguments.AtLeast("NAME", "KEY"),
		Example:           "  seriatim queue untag orders.fifo stage",
		ValidArgsFunction: o.completeQueues,
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			return w.changeQueue(cmd, p, args[0], "UntagQueue", map[string]any{"TagKeys": args[1:]}, "untagged")
		}),
	}
}

// changeQueue runs an action that changes a queue and has no result.
func (w *wire) changeQueue(cmd *cobra.Command, p *printer, name, action string, in map[string]any, past string) error {
	u, err := w.queueURL(cmd.Context(), name)
	if err != nil {
		return err
	}
	in["QueueUrl"] = u
	if err := w.call(cmd.Context(), action, in, nil, 0); err != nil {
		return err
	}
	return p.done(map[string]any{"name": nameOf(u), past: true}, "%s %s", past, nameOf(u))
}
