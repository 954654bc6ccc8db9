package top

import (
	"errors"
	"fmt"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/output"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

const (
	defaultInterval = 2 * time.Second
	intervalMin     = 100 * time.Millisecond
)

// Command returns the command. open makes the connections of one run.
func Command(open func(*cobra.Command) (*Source, error)) *cobra.Command {
	var interval time.Duration
	c := &cobra.Command{
		Use: "top", Short: "Watch queues, message groups, consumers and nodes on the whole screen", Args: arguments.None,
		Long: "Watch queues, message groups, consumers and nodes on the whole screen of a terminal. Choose a queue to see its groups,\n" +
			"and a group to see why it waits and which client holds it. Press ? for the keys.\n\n" +
			"The answers are those of queue list, group list, group explain, connections list and cluster status. If no node answers,\n" +
			"the screen keeps the last answer and says since when.",
		Example: "  seriatim top\n  seriatim top --interval 10s --endpoint http://10.0.0.1:9324,http://10.0.0.2:9324",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if interval < intervalMin {
				return exit.New(exit.Usage, fmt.Errorf("--interval %v is too short", interval), "use 100ms or more")
			}
			in, out := cmd.InOrStdin(), cmd.OutOrStdout()
			if !isTerminal(in) || !isTerminal(out) || os.Getenv("TERM") == "dumb" {
				return exit.New(exit.Usage, errors.New("seriatim top needs a terminal"), "use seriatim queue list --watch")
			}
			source, err := open(cmd)
			if err != nil {
				return err
			}
			defer source.Native.Close()
			m := newModel(cmd.Context(), source.ask)
			defer m.stop()
			m.interval, m.address, m.colour = interval, source.Address, output.WantsColour(out)
			program := tea.NewProgram(m, tea.WithContext(cmd.Context()), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler())
			_, err = program.Run()
			if cmd.Context().Err() != nil {
				return exit.Interruption("")
			}
			return exit.Wrap(err)
		},
	}
	c.Flags().DurationVar(&interval, "interval", defaultInterval, "time between two reads")
	return c
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(file.Fd())
}
