package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// versionInfo describes the build in JSON output.
type versionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit"` // empty if not built from a checkout
	Dirty   bool   `json:"dirty"`  // the checkout had changes
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// line returns the text that version and --version print.
func (v versionInfo) line() string {
	return fmt.Sprintf("seriatim %s (%s, %s/%s)\n", v.Version, v.Go, v.OS, v.Arch)
}

func versionCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "version", Short: "Print the version", Args: arguments.None,
		Example: "  seriatim version\n  seriatim version -o json   # with commit and platform",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "table" && output != "json" {
				return exit.New(exit.Usage, fmt.Errorf("unknown output format %q", output), "use -o table or -o json")
			}
			return printVersion(cmd.OutOrStdout(), output == "json")
		},
	}
	c.Flags().StringVarP(&output, "output", "o", cmp.Or(os.Getenv(client.EnvOutput), "table"), "table or json, env "+client.EnvOutput)
	values := cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp)
	if err := c.RegisterFlagCompletionFunc("output", values); err != nil {
		panic(err) // the flag is defined one line above
	}
	return c
}

func printVersion(out io.Writer, asJSON bool) error {
	info := readVersion()
	if asJSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return exit.Wrap(enc.Encode(info))
	}
	_, err := io.WriteString(out, info.line())
	return exit.Wrap(err)
}

func readVersion() versionInfo {
	info := versionInfo{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			info.Commit = s.Value
		case "vcs.modified":
			info.Dirty = s.Value == "true"
		}
	}
	return info
}
