package arguments

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

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

// nearMiss is how many letters a command's name may be off to be suggested.
const nearMiss = 2

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
