package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man DIRECTORY", Short: "Write a manual page for each command", Args: arguments.Exactly("the directory"),
		Long:    "Write a manual page for each command into a directory, which the command makes if it is missing.",
		Example: "  seriatim man /usr/local/share/man/man1",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return exit.New(exit.Failed, err, "")
			}
			if err := doc.GenManTree(cmd.Root(), &doc.GenManHeader{Section: "1", Source: "seriatim"}, args[0]); err != nil {
				return exit.New(exit.Failed, fmt.Errorf("write the manual pages: %w", err), "")
			}
			return nil
		},
	}
}
