package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/definitions"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/migrate"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/native"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/progress"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/transfer"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/plural"
)

// Environment variables with the key of a source. The AWS variables are the key of the cluster.
const (
	EnvSourceKey    = "SERIATIM_SOURCE_ACCESS_KEY_ID"
	EnvSourceSecret = "SERIATIM_SOURCE_SECRET_ACCESS_KEY"
	EnvSourceToken  = "SERIATIM_SOURCE_SESSION_TOKEN"
)

func migrateCommand(o *options) *cobra.Command {
	return group("migrate", "Copy queues and move messages from other services",
		"Copy queues and move messages from Amazon SQS, ElasticMQ or Yandex Message Queue, and copy queues of Azure Service Bus.\n\n"+
			"The commands print what they would do, and change something only with --apply. The environment has the key of the source:\n"+
			EnvSourceKey+", "+EnvSourceSecret+", and "+EnvSourceToken+" for temporary credentials.",
		migrateFromCommand(o, migrate.SQS, "Amazon SQS"), migrateFromCommand(o, migrate.ElasticMQ, "ElasticMQ"),
		migrateFromCommand(o, migrate.YMQ, "Yandex Message Queue"), migrateFromServiceBusCommand(o), migrateDiffCommand(o))
}

// sourceFlags names a source.
type sourceFlags struct {
	endpoint, region, prefix string
	config                   string // of ElasticMQ, or of the emulator of Service Bus
}

// bindConfig adds the flag for a configuration file in place of a running service.
func (f *sourceFlags) bindConfig(c *cobra.Command) {
	c.Flags().StringVar(&f.config, "config", "", "configuration file of ElasticMQ or of the Service Bus emulator "+
		"with the queues, instead of a running service")
	c.MarkFlagsMutuallyExclusive("config", "source-endpoint")
}

// read returns the queues in a configuration file.
func (f *sourceFlags) read(service migrate.Service) (*definitions.Document, []string, error) {
	file, err := os.Open(f.config)
	if err != nil {
		return nil, nil, exit.New(exit.Usage, fmt.Errorf("--config: %w", err), "")
	}
	defer func() { _ = file.Close() }() // it is only read
	read := migrate.ReadElasticMQ
	if service == migrate.ServiceBus {
		read = migrate.ReadEmulator
	}
	d, notes, err := read(file)
	if err != nil {
		err = exit.New(exit.CodeOf(err), fmt.Errorf("--config %s: %w", f.config, err), exit.HintOf(err))
	}
	return d, notes, err
}

func (f *sourceFlags) bind(c *cobra.Command) {
	c.Flags().StringVar(&f.endpoint, "source-endpoint", "", "address of the service (default: the public one, for ElasticMQ "+
		migrate.ElasticMQ.Endpoint("")+")")
	c.Flags().StringVar(&f.region, "source-region", "", "region of the service (default: us-east-1, for Yandex ru-central1)")
	c.Flags().StringVar(&f.prefix, "prefix", "", "only queues whose names begin with this")
}

// open returns the source and its queues as definitions.
func (f *sourceFlags) open(ctx context.Context, w *wire, service migrate.Service) (*migrate.Source, []migrate.Queue, *definitions.Document,
	[]string, error) {
	if f.config != "" {
		d, notes, err := f.read(service)
		return nil, nil, d, notes, err
	}
	region := cmp.Or(f.region, service.Region())
	options := migrate.Options{
		Service: service, Endpoint: cmp.Or(f.endpoint, service.Endpoint(region)), Region: region, KeyID: os.Getenv(EnvSourceKey),
		Secret: os.Getenv(EnvSourceSecret), Token: os.Getenv(EnvSourceToken), TLS: w.api.TLS, Timeout: w.timeout,
	}
	if service == migrate.ServiceBus {
		d, notes, err := migrate.Namespace(ctx, options, f.prefix)
		return nil, nil, d, notes, err
	}
	s, err := migrate.NewSource(options)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	queues, err := s.Queues(ctx, f.prefix)
	if err != nil {
		return s, nil, nil, nil, err
	}
	if len(queues) == 0 {
		return s, nil, nil, nil, exit.New(exit.NotFound, errors.New("the source has no queue whose name begins with \""+f.prefix+"\""), "")
	}
	wanted, notes, err := s.Definitions(ctx, queues)
	return s, queues, wanted, notes, err
}

// migrateFlags holds the flags of the commands that migrate.
type migrateFlags struct {
	source          sourceFlags
	messages, apply bool
	many            rateFlags
}

func migrateFromCommand(o *options, service migrate.Service, name string) *cobra.Command {
	f := &migrateFlags{}
	use := "from-" + string(service)
	c := &cobra.Command{
		Use: use, Short: "Copy queues and move messages from " + name, Args: arguments.None,
		Long: "Copy queues from " + name + ": attributes, tags, access policies and dead-letter queues. Without --apply, the command\n" +
			"prints the plan and changes nothing. The key of the source is in " + EnvSourceKey + " and\n" + EnvSourceSecret +
			".\n\n" +
			"With --messages, it then moves the available messages: it receives each, sends it here, and deletes it at the source\n" +
			"after it was stored. Groups keep their order. The deduplication id here is the message id at the source, so that a\n" +
			"repeated run stores a message of a FIFO queue once. Messages that a consumer holds, or that are delayed, stay.",
		Example: "  seriatim migrate " + use + "\n  seriatim migrate " + use + " --apply --messages --prefix orders",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
			return f.migrate(cmd, w, p, service)
		}),
	}
	f.source.bind(c)
	if service == migrate.ElasticMQ {
		f.source.bindConfig(c)
	}
	c.Flags().BoolVar(&f.apply, "apply", false, "carry out the plan")
	c.Flags().BoolVar(&f.messages, "messages", false, "move the messages, too")
	f.many.bind(c)
	if service == migrate.ElasticMQ {
		c.MarkFlagsMutuallyExclusive("config", "messages")
		c.Example += "\n  seriatim migrate " + use + " --config elasticmq.conf"
	}
	return c
}

func migrateFromServiceBusCommand(o *options) *cobra.Command {
	f := &migrateFlags{many: rateFlags{report: progress.None}} // it moves no messages
	c := &cobra.Command{
		Use: "from-servicebus", Args: arguments.None,
		Short: "Copy queues and topics from Azure Service Bus or from the configuration of its emulator",
		Long: "Copy queues and topics from a namespace of Azure Service Bus, or from the configuration file of its emulator. Without\n" +
			"--apply, the command prints the plan and changes nothing. For a namespace, " + EnvSourceKey + " is the name of a\n" +
			"shared access policy with the claim Manage, and " + EnvSourceSecret + " is its key.\n\n" +
			"Each queue becomes a FIFO queue with a dead-letter queue, each topic a FIFO topic, and each subscription a queue\n" +
			"that is subscribed to it. Rules are copied, messages are not. The plan names the properties that are left out.",
		Example: "  seriatim migrate from-servicebus --config Config.json\n" +
			"  seriatim migrate from-servicebus --source-endpoint https://example.servicebus.windows.net --apply",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
			return f.migrate(cmd, w, p, migrate.ServiceBus)
		}),
	}
	fl := c.Flags()
	fl.StringVar(&f.source.endpoint, "source-endpoint", "", "address of the namespace, such as https://example.servicebus.windows.net")
	fl.StringVar(&f.source.prefix, "prefix", "", "only queues and topics of the namespace whose names begin with this")
	f.source.bindConfig(c)
	c.MarkFlagsOneRequired("source-endpoint", "config")
	fl.BoolVar(&f.apply, "apply", false, "carry out the plan")
	return c
}

func (f *migrateFlags) migrate(cmd *cobra.Command, w *wire, p *printer, service migrate.Service) error {
	pace, err := f.many.pace()
	if err != nil {
		return err
	}
	show, err := p.progress(f.many.report)
	if err != nil {
		return err
	}
	n, err := native.Open(w.api)
	if err != nil {
		return err
	}
	defer n.Close()
	source, queues, wanted, notes, err := f.source.open(cmd.Context(), w, service)
	if source != nil {
		defer source.Close()
	}
	if err != nil {
		return err
	}
	cluster := &definitions.Cluster{Native: n, Parts: service.Parts()}
	have, err := definitions.Collect(cmd.Context(), cluster)
	if err != nil {
		return err
	}
	plan, err := definitions.NewPlan(cluster, have, wanted, false)
	if err != nil {
		return err
	}
	plan.Notes = notes
	counts, err := f.count(cmd.Context(), source, queues)
	if err != nil {
		return err
	}
	if !f.apply {
		return p.printMigration(plan, counts)
	}
	if err := plan.Apply(cmd.Context(), func(step definitions.Step) { p.say("done: %s", output.Harmless(step.Text)) }); err != nil {
		return err
	}
	p.notes(plan)
	begun := time.Now()
	total, err := moveAll(cmd.Context(), n, source, counts, pace, show)
	show.End()
	if err != nil {
		return interruptedMove(cmd.Context(), err, total)
	}
	return p.printMoved(len(plan.Steps), counts, total, time.Since(begun))
}

// moveAll moves the messages of all queues, sets how many of each, and returns their sum.
func moveAll(ctx context.Context, n *native.Conn, source *migrate.Source, counts []sourceCount, pace *transfer.Pace,
	show *progress.Bar) (total int64, err error) {
	all := sumOf(counts)
	for i := range counts {
		before := total
		counts[i].Moved, err = source.Move(ctx, n, migrate.Move{
			From: counts[i].queue, To: counts[i].Name, Pace: pace,
			Report: func(moved int64) { show.Count("moved", before+moved, all) },
		})
		if total += counts[i].Moved; err != nil {
			return total, err
		}
	}
	return total, nil
}

// interruptedMove adds the number of moved messages to an error.
func interruptedMove(ctx context.Context, err error, moved int64) error {
	text := plural.Count(moved, "message was moved", "messages were moved")
	rest := fmt.Sprintf("run the same command again to move the rest; messages that it received and did not move are hidden at the "+
		"source for %.0f minutes", migrate.Hidden.Minutes())
	if ctx.Err() != nil {
		return exit.New(exit.Interrupted, errors.New("interrupted: "+text), rest)
	}
	return exit.New(exit.CodeOf(exit.Wrap(err)), fmt.Errorf("%w; %s", err, text), cmp.Or(exit.HintOf(err), rest))
}

// sourceCount counts the messages of a queue of the source.
type sourceCount struct {
	Name      string `json:"name"`
	Available int64  `json:"available"`
	Hidden    int64  `json:"hidden"` // in flight or delayed
	Moved     int64  `json:"moved"`

	queue migrate.Queue
}

func sumOf(counts []sourceCount) (sum int64) {
	for _, c := range counts {
		sum += c.Available
	}
	return sum
}

// count counts the messages of the source, if they are to be moved.
func (f *migrateFlags) count(ctx context.Context, source *migrate.Source, queues []migrate.Queue) ([]sourceCount, error) {
	counts := []sourceCount{}
	if !f.messages {
		return counts, nil
	}
	for _, q := range queues {
		available, hidden, err := source.Count(ctx, q)
		if err != nil {
			return nil, err
		}
		counts = append(counts, sourceCount{Name: q.Name, Available: available, Hidden: hidden, queue: q})
	}
	return counts, nil
}

// printMigration prints the plan of a migration.
func (p *printer) printMigration(plan *definitions.Plan, counts []sourceCount) error {
	if p.format.OfDocument() {
		steps := []string{}
		for _, step := range plan.Steps {
			steps = append(steps, step.Text)
		}
		return p.print(map[string]any{"dryRun": true, "steps": steps, "notes": emptyIfNil(plan.Notes), "messages": counts}, nil)
	}
	for _, c := range counts {
		if c.Available == 0 {
			continue
		}
		plan.Steps = append(plan.Steps, definitions.Step{Text: "move " +
			plural.Count(c.Available, "message", "messages") + " of " + c.Name})
	}
	if err := p.printPlan(plan); err != nil {
		return err
	}
	p.say("Add --apply to carry it out.")
	return nil
}

// printMoved prints the result of a migration.
func (p *printer) printMoved(steps int, counts []sourceCount, total int64, took time.Duration) error {
	document := map[string]any{"changes": steps, "messages": counts, "moved": total, "seconds": took.Seconds()}
	if len(counts) == 0 {
		return p.done(document, "%s", plural.Count(steps, "change", "changes"))
	}
	if err := p.print(document, func() table {
		t := table{heading: []string{"QUEUE", "MOVED", "WERE IN FLIGHT OR DELAYED"}}
		for _, c := range counts {
			t.add(c.Name, decimal(c.Moved), decimal(c.Hidden))
		}
		return t
	}); err != nil {
		return err
	}
	p.say("%s, %s in %.1f s", plural.Count(steps, "change", "changes"), plural.Count(total, "message", "messages"), took.Seconds())
	return nil
}

func migrateDiffCommand(o *options) *cobra.Command {
	f := &sourceFlags{}
	c := &cobra.Command{
		Use: "diff sqs|elasticmq|ymq|servicebus", Short: "Compare the queues of a service with those of the cluster",
		Args: arguments.Exactly("SERVICE"),
		Long: "Compare the queues of a service with those of the cluster. A line with + is a queue or value that the cluster lacks, and\n" +
			"~ marks a value that differs. Other queues of the cluster are ignored. The exit code is 1 if there are differences.",
		Example: "  seriatim migrate diff sqs --source-region eu-west-1\n" +
			"  seriatim migrate diff elasticmq --source-endpoint http://127.0.0.1:9334",
		ValidArgs: []string{string(migrate.SQS), string(migrate.ElasticMQ), string(migrate.YMQ), string(migrate.ServiceBus)},
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, args []string) error {
			service := migrate.Service(args[0])
			if f.config != "" && service != migrate.ElasticMQ && service != migrate.ServiceBus {
				return exit.New(exit.Usage, errors.New("--config is for elasticmq and servicebus"), "")
			}
			if !slices.Contains(cmd.ValidArgs, args[0]) {
				return exit.New(exit.Usage, fmt.Errorf("unknown service %q", args[0]),
					"the services are "+strings.Join(cmd.ValidArgs, ", "))
			}
			n, err := native.Open(w.api)
			if err != nil {
				return err
			}
			defer n.Close()
			source, _, wanted, _, err := f.open(cmd.Context(), w, service)
			if source != nil {
				defer source.Close()
			}
			if err != nil {
				return err
			}
			have, err := definitions.Collect(cmd.Context(), &definitions.Cluster{Native: n, Parts: service.Parts()})
			if err != nil {
				return err
			}
			list := []definitions.Difference{}
			for _, d := range definitions.Compare(have, wanted) {
				if d.Kind != definitions.Remove {
					list = append(list, d)
				}
			}
			return p.printDifferences(list)
		}),
	}
	f.bind(c)
	f.bindConfig(c)
	return c
}
