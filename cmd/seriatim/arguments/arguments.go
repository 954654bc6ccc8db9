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

// Exactly wants one argument for each name.
func Exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return check(cmd, args, names, len(names), false) }
}

// Optional accepts one argument or none.
func Optional(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return check(cmd, args, []string{name}, 0, false) }
}

// OptionalLast wants one argument for each name, of which the last may be left out.
func OptionalLast(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error { return check(cmd, args, names, len(names)-1, false) }
}

// AtLeast wants one argument for each name; the last one may be repeated.
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
		return exit.New(exit.Usage, fmt.Errorf("unexpected argument %q after %s", args[len(names)], strings.Join(names, " and ")), "usage: "+cmd.UseLine())
	}
	return nil
}

const (
	// nearMiss is how many letters a name may be off to be suggested.
	nearMiss = 2
	// suggestionsMax bounds what is suggested for the beginning of many names.
	suggestionsMax = 3
)

// Nearest are those of names that somebody who typed something else may have meant, at
// most three: names that begin with it, or it with them, or that differ in up to two
// letters.
func Nearest(typed string, names []string) []string {
	// The rule is the one for commands.
	commands := &cobra.Command{SuggestionsMinimumDistance: nearMiss}
	for _, name := range names {
		c := &cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}}
		if strings.HasPrefix(typed, name) {
			c.SuggestFor = []string{typed}
		}
		commands.AddCommand(c)
	}
	near := slices.Compact(commands.SuggestionsFor(typed)) // a name may be near in both ways
	return near[:min(len(near), suggestionsMax)]
}

// FlagError makes an error about flags one with an exit code and a hint, which names
// the flags that an unknown one was perhaps meant to be.
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

// Group runs a command that only holds others: alone it prints its help, and a
// name that none of them has is an error, with the names that come near.
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
