package client

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// Errors name a missing argument as the usage of the command does.
func TestMissingTextIsNamed(t *testing.T) {
	for args, want := range map[string]string{
		"msg send q":                  "BODY is missing",
		"msg schedule q.fifo --in 1m": "BODY is missing",
		"topic publish news":          "MESSAGE is missing",
		"session state set q.fifo s":  "STATE is missing",
	} {
		terminal, err := os.Open(os.DevNull) // as a terminal, it is a device
		if err != nil {
			t.Fatal(err)
		}
		root := &cobra.Command{Use: "seriatim", SilenceErrors: true, SilenceUsage: true}
		root.AddCommand(Commands()...)
		root.SetArgs(append(strings.Fields(args), "--endpoint", "http://127.0.0.1:1"))
		root.SetIn(terminal)
		err = root.ExecuteContext(t.Context())
		name := strings.ToLower(strings.Fields(want)[0])
		if exit.CodeOf(err) != exit.Usage || err.Error() != want || !strings.HasPrefix(exit.HintOf(err), "give the "+name+" ") {
			t.Errorf("%s: exit code %d: %v, hint %q, want %q", args, exit.CodeOf(err), err, exit.HintOf(err), want)
		}
		_ = terminal.Close() // it was read only
		large := runTool(t, "http://127.0.0.1:1", strings.Repeat("x", bodyBytesMax+1), strings.Fields(args)...)
		if exit.CodeOf(large.err) != exit.Usage || !strings.HasPrefix(large.err.Error(), "the "+name+" is larger than the limit of 1 MiB") {
			t.Errorf("%s: exit code %d: %v", args, exit.CodeOf(large.err), large.err)
		}
	}
}
