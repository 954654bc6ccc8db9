package client

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/docs/reference"
)

// explained is the meaning of an error code or an exit code.
type explained struct {
	Code    string `json:"code"`
	HTTP    string `json:"http,omitempty"`
	API     string `json:"api,omitempty"`
	Of      string `json:"of,omitempty"` // of an exit code: the program
	Meaning string `json:"meaning"`
}

func explainCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "explain CODE", Short: "Explain an error code of the APIs, or an exit code", Args: arguments.Exactly("the code"),
		Long: "Explain an error code of the SQS, SNS and native APIs, or an exit code of the tool and of the server.\n" +
			"The code may have the prefixes that SDKs show, such as AWS.SimpleQueueService.",
		Example: "  seriatim explain InvalidParameterValue\n  seriatim explain 80",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return explainedCodes(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := o.printer(cmd)
			if err != nil {
				return err
			}
			found := explain(args[0])
			if len(found) == 0 {
				hint := "docs/reference/errors.md and exit-codes.md list all codes"
				if near := arguments.Nearest(args[0], explainedCodes()); len(near) > 0 {
					hint = "did you mean " + strings.Join(near, ", ") + "?"
				}
				return exit.New(exit.NotFound, fmt.Errorf("there is no code %q", args[0]), hint)
			}
			return p.print(map[string]any{"codes": found}, func() table {
				t := table{heading: []string{"CODE", "HTTP", "WHERE", "MEANING"}}
				for _, e := range found {
					t.add(e.Code, orDash(e.HTTP), cmp.Or(e.API, e.Of), e.Meaning)
				}
				return t
			})
		},
	}
}

// explain finds a code, without the prefix of an SDK and the suffix Exception.
func explain(code string) (found []explained) {
	short := code[strings.LastIndexAny(code, ".#")+1:]
	for _, e := range allExplained() {
		if slices.Contains([]string{code, short, strings.TrimSuffix(short, "Exception"), short + "Exception"}, e.Code) {
			found = append(found, e)
		}
	}
	return found
}

func explainedCodes() (codes []string) {
	for _, e := range allExplained() {
		codes = append(codes, e.Code)
	}
	return codes
}

// allExplained reads the tables of the pages: with four columns in the page on errors, and with the
// code first in that on exit codes, below a heading with the name of the program.
func allExplained() (all []explained) {
	for _, cells := range tableRows(reference.Errors) {
		if len(cells) == 5 && strings.HasPrefix(cells[1], "`") {
			for _, code := range strings.Split(cells[1], ", ") {
				all = append(all, explained{Code: strings.Trim(code, "`"), HTTP: cells[2], API: cells[3], Meaning: plain(cells[4])})
			}
		}
	}
	for _, cells := range tableRows(reference.ExitCodes) {
		if len(cells) >= 3 && strings.Trim(cells[1], "0123456789") == "" {
			all = append(all, explained{Code: cells[1], Of: cells[0], Meaning: plain(strings.Join(cells[2:], " "))})
		}
	}
	return all
}

// tableRows returns the cells of all tables of a page, after the heading above.
func tableRows(page string) (rows [][]string) {
	heading := ""
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "## "); ok {
			heading = text
		}
		if strings.HasPrefix(line, "|") {
			cells := []string{heading}
			for _, cell := range strings.Split(strings.Trim(line, "|"), "|") {
				cells = append(cells, strings.TrimSpace(cell))
			}
			rows = append(rows, cells)
		}
	}
	return rows
}

// plain removes the marks of code.
func plain(text string) string { return strings.ReplaceAll(text, "`", "") }
