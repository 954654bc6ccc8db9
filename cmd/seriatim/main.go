// Command seriatim is the server and the command-line tool in one binary.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	// Root certificates for https subscribers of topics where the system has none, such as
	// in an image that holds only this program.
	_ "golang.org/x/crypto/x509roots/fallback"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/certificate"
	"github.com/seriatimq/seriatim/cmd/seriatim/client"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/cmd/seriatim/offline"
	"github.com/seriatimq/seriatim/cmd/seriatim/server"
)

// version is set by the linker, see Makefile.
var version = "devel"

// formatMax is set by the linker only for tests of upgrades. It is the highest format that the
// program announces, so that the program can play the next version.
var formatMax = ""

func main() {
	// The first signal stops the running command cleanly. The second kills the process,
	// because signals have their default effect after the first.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(int(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)))
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) exit.Code {
	root := rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(stderr, "seriatim: "+err.Error()) //nolint:errcheck // a failed write cannot be reported
		if hint := exit.HintOf(err); hint != "" {
			fmt.Fprintln(stderr, "  "+hint) //nolint:errcheck // a failed write cannot be reported
		}
	}
	return exit.CodeOf(err)
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "seriatim",
		Short: "A replicated FIFO queue that speaks the Amazon SQS and SNS protocols",
		Long: "seriatim is a replicated FIFO queue that speaks the Amazon SQS and SNS protocols.\n\n" +
			"This one program is the server (seriatim server, seriatim dev) and the command-line tool.\n\n" +
			"Shells complete commands, flags, queue and node names: seriatim completion bash --help (zsh, fish, powershell).",
		Example: "  seriatim dev                       # one node, ready at once\n" +
			"  seriatim dev --nodes 3             # a real three-node cluster on this machine\n" +
			"  seriatim queue create orders.fifo\n" +
			"  seriatim msg send orders.fifo hello --group g --deduplication-id 1\n" +
			"  seriatim msg receive orders.fifo --delete",
		SilenceErrors: true, // printed by run, with the hint
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs, // Group checks them
		Annotations:   map[string]string{client.VersionAnnotation: version},
	}
	// cobra's own version flag uses a template. Templates call methods by name, so the linker
	// would keep every method of every type, and the program would be a sixth larger.
	asked := root.Flags().BoolP("version", "v", false, "version for seriatim")
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *asked {
			return printVersion(cmd.OutOrStdout(), false)
		}
		return arguments.Group(cmd, args)
	}
	root.SetFlagErrorFunc(arguments.FlagError(exit.Usage))
	root.AddCommand(server.Commands(version, formatMax)...)
	root.AddCommand(client.Commands()...)
	root.AddCommand(certificate.Command(), versionCommand(), manCommand())
	offline.AddTo(root)
	return root
}
