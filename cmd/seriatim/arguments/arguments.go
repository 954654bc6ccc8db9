// Package arguments checks the arguments of the command line, suggests names for mistyped
// commands and flags, and reads standard input.
package arguments

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// None accepts no argument.
func None(cmd *cobra.Command, args []string) error { return check(cmd, args, nil, 0, false) }

// Exactly accepts one argument for each name.
func Exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return check(cmd, args, names, len(names), false) }
}

// Optional accepts one argument or none.
func Optional(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return check(cmd, args, []string{name}, 0, false) }
}

// OptionalLast accepts one argument for each name, of which you may leave out the last.
func OptionalLast(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return check(cmd, args, names, len(names)-1, false) }
}

// AtLeast accepts one argument for each name and further ones for the last.
func AtLeast(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return check(cmd, args, names, len(names), true) }
}

func check(cmd *cobra.Command, args, names []string, wanted int, repeated bool) error {
	switch {
	case len(args) < wanted:
		return exit.New(exit.Usage, errors.New(names[len(args)]+" is missing"), "usage: "+cmd.UseLine())
	case len(args) > len(names) && !repeated && len(names) == 0:
		return exit.New(exit.Usage, fmt.Errorf("unexpected argument %q: %s takes flags only", args[0], cmd.CommandPath()),
			"run '"+cmd.CommandPath()+" --help' for the flags")
	case len(args) > len(names) && !repeated:
		return exit.New(exit.Usage, fmt.Errorf("unexpected argument %q after %s", args[len(names)], strings.Join(names, " and ")),
			"usage: "+cmd.UseLine())
	}
	return nil
}

const (
	nearMiss       = 2 // letters by which a suggested name may differ
	suggestionsMax = 3 // the beginning of a name can fit many
)

// Nearest returns up to three names that resemble the typed text: one begins with the other,
// or they differ in up to two letters.
func Nearest(typed string, names []string) []string {
	// cobra suggests commands by this rule.
	commands := &cobra.Command{SuggestionsMinimumDistance: nearMiss}
	for _, name := range names {
		c := &cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}}
		if strings.HasPrefix(typed, name) {
			c.SuggestFor = []string{typed}
		}
		commands.AddCommand(c)
	}
	near := slices.Compact(commands.SuggestionsFor(typed)) // both rules may suggest the same name
	return near[:min(len(near), suggestionsMax)]
}

// FlagError adds an exit code and a hint to an error about flags. For an unknown flag the hint
// names similar ones.
func FlagError(code exit.Code) func(*cobra.Command, error) error {
	return func(cmd *cobra.Command, err error) error {
		hint := "run '" + cmd.CommandPath() + " --help' for the flags"
		if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
			var names []string
			cmd.Flags().VisitAll(func(f *pflag.Flag) {
				if !f.Hidden {
					names = append(names, f.Name)
				}
			})
			if near := Nearest(strings.ReplaceAll(unknown.GetSpecifiedName(), "_", "-"), names); len(near) > 0 {
				hint = "did you mean --" + strings.Join(near, " or --") + "? " + hint
			}
		}
		return exit.New(code, err, hint)
	}
}

// Group runs a command that only holds others. Without an argument it prints the help. An
// unknown name is an error with a hint that names similar commands.
func Group(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	cmd.SuggestionsMinimumDistance = nearMiss
	hint := "run '" + cmd.CommandPath() + " --help' for the list"
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean '" + cmd.CommandPath() + " " + strings.Join(near, "' or '"+cmd.CommandPath()+" ") + "'? " + hint
	}
	text := fmt.Sprintf("unknown command %q", args[0])
	if cmd.HasParent() {
		text += fmt.Sprintf(" for %q", cmd.CommandPath())
	}
	return exit.New(exit.Usage, errors.New(text), hint)
}
