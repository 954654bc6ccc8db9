package arguments_test

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

func TestArguments(t *testing.T) {
	tests := []struct {
		name string
		want cobra.PositionalArgs
		args string
		text string // empty: accepted
	}{
		{"none", arguments.None, "", ""},
		{"one instead of none", arguments.None, "a", `unexpected argument "a": make takes flags only`},
		{"exact", arguments.Exactly("A", "B"), "a b", ""},
		{"first missing", arguments.Exactly("A", "B"), "", "A is missing"},
		{"second missing", arguments.Exactly("A", "B"), "a", "B is missing"},
		{"one too many", arguments.Exactly("A", "B"), "a b c", `unexpected argument "c" after A and B`},
		{"optional", arguments.Optional("A"), "", ""},
		{"optional, given", arguments.Optional("A"), "a", ""},
		{"optional, two", arguments.Optional("A"), "a b", `unexpected argument "b" after A`},
		{"last left out", arguments.OptionalLast("A", "B"), "a", ""},
		{"last given", arguments.OptionalLast("A", "B"), "a b", ""},
		{"all left out", arguments.OptionalLast("A", "B"), "", "A is missing"},
		{"many", arguments.AtLeast("A", "B"), "a b c d", ""},
		{"too few", arguments.AtLeast("A", "B"), "a", "B is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.want(&cobra.Command{Use: "make"}, strings.Fields(tt.args))
			switch {
			case tt.text == "" && err != nil:
				t.Error(err)
			case tt.text != "" && (exit.CodeOf(err) != exit.Usage || err.Error() != tt.text || exit.HintOf(err) == ""):
				t.Errorf("got %v, want %s", err, tt.text)
			}
		})
	}
}

func TestGroup(t *testing.T) {
	root := &cobra.Command{Use: "tool", Args: cobra.ArbitraryArgs, RunE: arguments.Group, SilenceErrors: true, SilenceUsage: true}
	queue := &cobra.Command{Use: "queue", RunE: arguments.Group}
	queue.AddCommand(&cobra.Command{Use: "list", Run: func(*cobra.Command, []string) {}},
		&cobra.Command{Use: "purge", Run: func(*cobra.Command, []string) {}})
	root.AddCommand(queue)
	root.SetOut(io.Discard)
	tests := []struct{ args, text, hint string }{
		{"queue", "", ""},
		{"queue lsit", `unknown command "lsit" for "tool queue"`, "did you mean 'tool queue list'?"},
		{"queue explode", `unknown command "explode" for "tool queue"`, "run 'tool queue --help'"},
		{"quue", `unknown command "quue"`, "did you mean 'tool queue'?"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			root.SetArgs(strings.Fields(tt.args))
			err := root.Execute()
			text := ""
			if err != nil {
				text = err.Error()
			}
			if text != tt.text || !strings.HasPrefix(exit.HintOf(err), tt.hint) {
				t.Errorf("got %v, hint %q", err, exit.HintOf(err))
			}
		})
	}
}
