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
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
	"github.com/seriatimq/seriatim/queue/attributes"
	api "github.com/seriatimq/seriatim/transport/grpc/client"
	"github.com/seriatimq/seriatim/transport/ops/document"
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
	// Live has the rates, the age of the oldest message and more, if the admin port answers.
	Live *document.QueueCounts `json:"live,omitempty"`
}

func queueCommand(o *options) *cobra.Command {
	return group("queue", "Create, list, show, change, purge and delete queues",
		"Create, list, show, change, purge and delete queues.\n\nNAME is a queue name or a queue URL.",
		queueListCommand(o), queueCreateCommand(o), queueShowCommand(o), queueUpdateCommand(o), queueTagCommand(o), queueUntagCommand(o),
		queueDeleteCommand(o), queuePurgeCommand(o), queuePauseCommand(o), queueResumeCommand(o), queueExplainCommand(o))
}

func queueCreateCommand(o *options) *cobra.Command {
	return creation(o, &cobra.Command{
		Use: "create NAME", Short: "Create a queue", Args: arguments.Exactly("NAME"),
		Long: "Create a queue. A name that ends in .fifo makes a FIFO queue.\n\n" +
			"Attributes are those of the SQS API, such as VisibilityTimeout=60, and extensions. The page\n" +
			"docs/reference/queue-attributes.md describes them: " + strings.Join(namesOf(attributes.Describe()), ", ") + ".\n\n" +
			"Creating a queue that exists with the same attributes succeeds.",
		Example: "  seriatim queue create orders.fifo --attribute ContentBasedDeduplication=true\n" +
			"  seriatim queue create jobs --attribute VisibilityTimeout=120 --tag team=billing",
	}, attributes.Describe(), "url",
		func(ctx context.Context, n *native.Conn, name string, attrs, tags map[string]string) (string, error) {
			arn, err := native.Get(ctx, n, func(ctx context.Context, c *api.Client) (string, error) {
				return c.CreateQueue(ctx, name, attrs, tags)
			})
			return urlOf(n, arn), err
		})
}

// creation completes a command that creates a queue or topic. create returns its URL or ARN, which has
// the key in JSON. known lists the attributes.
func creation(o *options, c *cobra.Command, known []attributes.Described, key string,
	create func(ctx context.Context, n *native.Conn, name string, attrs, tags map[string]string) (string, error)) *cobra.Command {
	var given, tags []string
	c.RunE = o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
		attrs, err := flagPairs("attribute", given)
		if err != nil {
			return err
		}
		tagged, err := flagPairs("tag", tags)
		if err != nil {
			return err
		}
		made, err := create(cmd.Context(), n, args[0], attrs, tagged)
		if err != nil {
			return unknownAttribute(err, attrs, namesOf(known))
		}
		return p.print(map[string]string{"name": nameOf(args[0]), key: made}, func() table { return table{rows: [][]string{{made}}} })
	})
	c.Flags().StringArrayVarP(&given, "attribute", "a", nil, "an attribute as Name=Value, may be repeated")
	completeAttributes(c, known)
	c.Flags().StringArrayVarP(&tags, "tag", "t", nil, "a tag as key=value, may be repeated")
	return c
}

func queueShowCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show attributes, counts and tags of a queue", Args: arguments.Exactly("NAME"),
		Example:           "  seriatim queue show orders.fifo\n  seriatim queue show orders.fifo -o json | jq .attributes.QueueArn",
		ValidArgsFunction: o.completeQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			q, err := describe(cmd.Context(), n, qualifiedOf(args[0]))
			if err != nil {
				return err
			}
			q.Tags, err = native.Get(cmd.Context(), n, func(ctx context.Context, c *api.Client) (map[string]string, error) {
				return c.QueueTags(ctx, qualifiedOf(args[0]))
			})
			if err != nil {
				return err
			}
			q.Defaults = attributes.Unlisted(q.Type == "fifo", q.Attributes)
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
	return destroyCommand(o, "Delete a queue with all its messages", (*api.Client).DeleteQueue, "delete", "deleted")
}

func queuePurgeCommand(o *options) *cobra.Command {
	return destroyCommand(o, "Delete all messages of a queue", (*api.Client).PurgeQueue, "purge", "purged")
}

// destroyCommand makes the command verb for a call that deletes the messages of a queue. It prints
// the message counts, asks for the name of the queue, and makes the call.
func destroyCommand(o *options, short string, call func(*api.Client, context.Context, string) error, verb, past string) *cobra.Command {
	ask := &question{}
	c := &cobra.Command{
		Use: verb + " NAME", Short: short, Args: arguments.Exactly("NAME"),
		Example:           "  seriatim queue " + verb + " orders.fifo --yes",
		ValidArgsFunction: o.completeQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			q, err := describe(cmd.Context(), n, qualifiedOf(args[0]))
			if err != nil {
				return err
			}
			effect := fmt.Sprintf("%s has %d visible, %d in flight, %d deferred and %s.", q.Name, q.Visible, q.InFlight, q.Deferred,
				plural.Count(q.Delayed, "delayed message", "delayed messages"))
			if err := ask.ask(cmd, p, effect, "the name of the queue to "+verb, q.Name); err != nil {
				return err
			}
			return changeQueue(cmd, n, p, args[0], past, call)
		}),
	}
	return ask.of(c)
}

// describe reads the attributes and counts of a queue, whose name may have an account.
func describe(ctx context.Context, n *native.Conn, name string) (queueInfo, error) {
	attrs, err := native.Get(ctx, n, func(ctx context.Context, c *api.Client) (map[string]string, error) {
		return c.QueueAttributes(ctx, name)
	})
	if err != nil {
		return queueInfo{}, err
	}
	q := queueInfo{Name: nameOf(name), URL: urlOf(n, attrs["QueueArn"]), Type: typeOf(name), Attributes: attrs}
	for _, count := range []struct {
		name string
		to   *int64
	}{
		{"ApproximateNumberOfMessages", &q.Visible}, {"ApproximateNumberOfMessagesNotVisible", &q.InFlight},
		{"ApproximateNumberOfMessagesDelayed", &q.Delayed}, {"ApproximateNumberOfMessagesDeferred", &q.Deferred},
	} {
		text, listed := attrs[count.name]
		if !listed && count.to == &q.Deferred {
			continue // there are none
		}
		if *count.to, err = strconv.ParseInt(text, 10, 64); err != nil {
			return queueInfo{}, fmt.Errorf("%s of %s: %w", count.name, q.Name, err)
		}
	}
	q.InFlight -= q.Deferred
	return q, nil
}

// typeOf returns fifo or standard, by the name.
func typeOf(name string) string {
	if strings.HasSuffix(name, ".fifo") {
		return "fifo"
	}
	return "standard"
}

// urlOf returns the URL of the queue with an ARN, at a client port that answers.
func urlOf(n *native.Conn, arn string) string { return n.URL() + "/" + qualifiedOf(arn) }

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
	q := &question{}
	c := &cobra.Command{
		Use: "update NAME --attribute Name=Value", Short: "Change attributes of a queue", Args: arguments.Exactly("NAME"),
		Long: "Change attributes of a queue; all others stay as they are. An empty value removes a Policy or a RedrivePolicy.\n" +
			"The command asks before it shortens the deduplication window or the retention period.\n\n" +
			"seriatim queue show NAME prints the attributes.",
		Example: "  seriatim queue update orders.fifo --attribute VisibilityTimeout=120\n" +
			"  seriatim queue update jobs -a " +
			"'RedrivePolicy={\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:jobs-dead\",\"maxReceiveCount\":5}'\n" +
			"  seriatim queue update jobs -a RedrivePolicy=",
		ValidArgsFunction: o.completeQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			attrs, err := flagPairs("attribute", given)
			if err != nil {
				return err
			}
			if len(attrs) == 0 {
				return exit.New(exit.Usage, errors.New("--attribute is missing"), "name the change: --attribute VisibilityTimeout=60")
			}
			known := attributes.Describe()
			err = q.askLoss(cmd, p, "queue", args[0], known, attrs, func() (map[string]string, error) {
				return native.Get(cmd.Context(), n, func(ctx context.Context, c *api.Client) (map[string]string, error) {
					return c.QueueAttributes(ctx, qualifiedOf(args[0]))
				})
			})
			if err != nil {
				return err
			}
			err = changeQueue(cmd, n, p, args[0], "updated", func(c *api.Client, ctx context.Context, name string) error {
				return c.SetQueueAttributes(ctx, name, attrs)
			})
			return unknownAttribute(err, attrs, namesOf(known))
		}),
	}
	c.Flags().StringArrayVarP(&given, "attribute", "a", nil, "an attribute as Name=Value, may be repeated")
	completeAttributes(c, attributes.Describe())
	return q.of(c)
}

func queueTagCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "tag NAME KEY=VALUE...", Short: "Add tags to a queue, or change them", Args: arguments.AtLeast("NAME", "KEY=VALUE"),
		Example:           "  seriatim queue tag orders.fifo team=billing stage=production",
		ValidArgsFunction: o.completeQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			tags, err := pairs("the tag", args[1:], "usage: "+cmd.UseLine())
			if err != nil {
				return err
			}
			return changeQueue(cmd, n, p, args[0], "tagged", func(c *api.Client, ctx context.Context, name string) error {
				return c.TagQueue(ctx, name, tags)
			})
		}),
	}
}

func queueUntagCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "untag NAME KEY...", Short: "Remove tags from a queue", Args: arguments.AtLeast("NAME", "KEY"),
		Example:           "  seriatim queue untag orders.fifo stage",
		ValidArgsFunction: o.completeQueues,
		RunE: o.runNative(func(cmd *cobra.Command, n *native.Conn, p *printer, args []string) error {
			return changeQueue(cmd, n, p, args[0], "untagged", func(c *api.Client, ctx context.Context, name string) error {
				return c.UntagQueue(ctx, name, args[1:]...)
			})
		}),
	}
}

// changeQueue makes a call that changes a queue, given by its name or URL, and has no result.
func changeQueue(cmd *cobra.Command, n *native.Conn, p *printer, queue, past string,
	change func(c *api.Client, ctx context.Context, name string) error) error {
	name := qualifiedOf(queue)
	if err := n.Do(cmd.Context(), 0, func(ctx context.Context, c *api.Client) error { return change(c, ctx, name) }); err != nil {
		return err
	}
	return p.done(map[string]any{"name": nameOf(name), past: true}, "%s %s", past, nameOf(name))
}
