package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/health"
	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/client/diagnose"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

func statusCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show one node and its view of the cluster", Args: arguments.None,
		Long: "Show one node and its view of the cluster.\n\nExit code 5 means that no server answers or that the cluster has no leader.",
		Example: "  seriatim status\n  seriatim status --admin 127.0.0.1:9335 -o json | jq .role\n" +
			"  seriatim status -o json | jq '.peers[] | select(.lagEntries > 1000)'   # ask the leader for lags",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
			var s cluster.Status
			if err := w.get(cmd.Context(), "/v1/status", nil, &s); err != nil {
				return err
			}
			s.Findings, s.Warnings, s.Peers = emptyIfNil(s.Findings), emptyIfNil(s.Warnings), emptyIfNil(s.Peers)
			if err := printStatus(p, s); err != nil {
				return err
			}
			if s.Role == "waiting" {
				return exit.New(exit.Unavailable, errors.New("the node belongs to no cluster yet"),
					"seriatim cluster status shows the reason")
			}
			if s.LeaderID == "" {
				return exit.New(exit.Unavailable, errors.New("the cluster has no leader"),
					"a majority of its nodes must run and reach each other's peer ports")
			}
			return nil
		}),
	}
}

// checkCommand makes the probes, for images that contain only this program.
func checkCommand(o *options) *cobra.Command {
	one := func(use, path, short string) *cobra.Command {
		return &cobra.Command{
			Use: use, Short: short, Args: arguments.None,
			Example: "  seriatim check " + use + " --admin 10.0.0.1:9325",
			RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
				if err := w.single(cmd); err != nil {
					return err
				}
				got, err := w.send(cmd.Context(), http.MethodGet, path, nil)
				if err != nil {
					return err
				}
				text := strings.TrimSpace(string(got.body))
				if got.status != http.StatusOK {
					return exit.New(exit.Failed, errors.New(text), "")
				}
				return p.print(map[string]string{"check": use, "answer": text},
					func() table { return table{rows: [][]string{{use, text}}} })
			}),
		}
	}
	all := []*cobra.Command{one("live", "/livez", "Check whether the process works"),
		one("ready", "/readyz", "Check whether the node can answer clients")}
	for _, c := range health.Checks() {
		all = append(all, thresholdCommand(o, c))
	}
	return group("check", "Check one thing and answer with the exit code",
		"Check one thing and answer with the exit code.\n\n"+
			"live and ready ask one node as probes do, without a token. Exit codes: 0 yes, 1 no, 5 no answer.\n\n"+
			"The other checks ask all members of the cluster through any node of --admin, and print a line for each problem.\n"+
			"Exit codes, as monitoring systems expect them: 0 good, 1 warning, 2 critical, 3 unknown.", all...)
}

// thresholdCommand makes a check with two thresholds.
func thresholdCommand(o *options, check health.Check) *cobra.Command {
	warn, crit := check.Warn, check.Crit
	beyond := "above"
	if check.Below {
		beyond = "below"
	}
	c := &cobra.Command{
		Use: check.Name, Short: check.Short, Args: arguments.None,
		Example: "  seriatim check " + check.Name + " --admin 10.0.0.1:9325,10.0.0.2:9325,10.0.0.3:9325",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
			found := diagnose.Check(cmd.Context(), eachNode{w}, check, warn, crit)
			err := p.print(found[0], func() (t table) {
				for _, outcome := range found {
					t.add(outcome.Line())
				}
				return t
			})
			if level := found[0].Level; err == nil && level != health.OK {
				return exit.New(exit.Code(level), errors.New("the check "+check.Name+" is "+strings.ToLower(level.String())), "")
			}
			return err
		}),
	}
	if check.Plain { // its value is a rank
		return c
	}
	c.Flags().Float64Var(&warn, "warn", check.Warn, "warning "+beyond+" this, in "+check.Unit)
	c.Flags().Float64Var(&crit, "crit", check.Crit, "critical "+beyond+" this, in "+check.Unit)
	return c
}

// doctorCommand runs all checks at once.
func doctorCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Run all checks, and give advice for those that fail", Args: arguments.None,
		Long: "Run all checks, and give advice for those that fail.\n\n" +
			"The command asks all members of the cluster through any node of --admin, and runs all checks of seriatim check with\n" +
			"their default thresholds. It names members that do not answer. The exit code is the worst one: 0 good, 1 warning,\n" +
			"2 critical, 3 unknown.",
		Example: "  seriatim doctor --admin 10.0.0.1:9325,10.0.0.2:9325,10.0.0.3:9325",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
			found := diagnose.Diagnose(cmd.Context(), eachNode{w})
			if cmd.Context().Err() != nil { // the nodes that were not asked would look dead
				return exit.Interruption("")
			}
			if err := p.print(found, func() table { return diagnosisTable(found) }); err != nil {
				return err
			}
			if found.Level == health.OK {
				return nil
			}
			return exit.New(exit.Code(found.Level), errors.New("the cluster has problems"), "")
		}),
	}
}

func diagnosisTable(found diagnose.Diagnosis) (t table) {
	for i, f := range found.Findings {
		t.rows = append(t.rows, []string{f.Line()})
		last := i == len(found.Findings)-1 || found.Findings[i+1].Advice != f.Advice
		if f.Advice != "" && last { // once for findings of one kind
			t.rows = append(t.rows, []string{"  " + f.Advice})
		}
	}
	return t
}

// memberKeys is the encryption of one member in JSON output.
type memberKeys struct {
	Node       string                    `json:"node"`
	Encryption *cluster.EncryptionStatus `json:"encryption"` // null: unknown
}

// encryptionCommand makes the group encryption-key. Package offline adds the commands that need no
// server.
func encryptionCommand(o *options) *cobra.Command {
	status := &cobra.Command{
		Use: "status", Short: "Show the keys that each node needs, and data that is still in clear text", Args: arguments.None,
		Long: "Show the keys that each node needs, and data that is still in clear text. The command asks all members through any node\n" +
			"of --admin.\n\n" +
			"Remove the line of a key from the key files when no node needs the key. Keep the key itself for as long as you keep\n" +
			"backups that it encrypted. If a member does not answer, the exit code is 1: it may need any key.",
		Example: "  seriatim encryption-key status --admin 10.0.0.1:9325\n" +
			"  seriatim encryption-key status -o json | jq -r '.nodes[] | .node + \" \" + (.encryption.keys[] | select(.needed).id)'",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
			list, err := w.members(cmd.Context(), false)
			if err != nil {
				return err
			}
			return p.printKeys(list)
		}),
	}
	return group("encryption-key", "Make, list and watch the keys that encrypt data at rest", "", status)
}

// printKeys shows the encryption of all members.
func (p *printer) printKeys(list memberList) error {
	nodes, silent := []memberKeys{}, []string{}
	for _, m := range list.Members {
		nodes = append(nodes, memberKeys{m.Name, m.Encryption})
		if m.Encryption == nil {
			silent = append(silent, m.Name)
		}
	}
	err := p.print(map[string]any{"nodes": nodes}, func() table {
		t := table{heading: []string{"NODE", "KEY", "ENCRYPTS", "IN FILE", "NEEDED FOR"}}
		for _, n := range nodes {
			if n.Encryption == nil {
				t.add(n.Node, "unknown", "-", "-", "-")
				continue
			}
			for _, key := range n.Encryption.Keys {
				needed := "nothing"
				if key.Needed {
					needed = strings.Join(key.For, ", ")
				}
				t.add(n.Node, key.ID, strconv.FormatBool(key.Encrypts), strconv.FormatBool(key.InFile), needed)
			}
			if text := strings.Join(n.Encryption.ClearText, ", "); text != "" {
				t.add(n.Node, "clear text", "-", "-", text)
			}
		}
		return t
	})
	if err == nil && len(silent) > 0 {
		err = exit.New(exit.Failed, fmt.Errorf("%s may need any key, because the answer is missing", strings.Join(silent, ", ")),
			"start the node, or upgrade its program, and try again")
	}
	return err
}

// debugCommand collects the files for a defect report.
func debugCommand(o *options) *cobra.Command {
	var file string
	bundle := &cobra.Command{
		Use: "bundle", Short: "Collect status, metrics, settings, logs and profiles of all members in one file", Args: arguments.None,
		Long: "Collect status, metrics, settings, the end of the log and profiles of all members of the cluster in one tar.gz.\n\n" +
			"The command asks the admin ports of --admin, and those that the members announce. It names unreachable members.\n" +
			"The file contains no message bodies, keys and tokens. It contains names of queues and nodes, addresses and paths.\n" +
			"Settings, logs and profiles need the role admin.",
		Example: "  seriatim debug bundle --admin 10.0.0.1:9325,10.0.0.2:9325,10.0.0.3:9325 --file bundle.tar.gz",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
			out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if errors.Is(err, fs.ErrExist) {
				return exit.New(exit.Conflict, err, "choose another file with --file")
			}
			if err != nil {
				return exit.New(exit.Usage, err, "choose another file with --file")
			}
			missing, err := diagnose.WriteBundle(cmd.Context(), out, eachNode{w}, cmd.Root().Annotations[VersionAnnotation], time.Now())
			if err = errors.Join(err, out.Close()); err != nil {
				return bundleError(cmd.Context(), errors.Join(err, os.Remove(file)))
			}
			for _, part := range missing {
				p.say("missing: %s", part)
			}
			return p.done(map[string]any{"file": file, "missing": emptyIfNil(missing)}, "Written to %s", file)
		}),
	}
	bundle.Flags().StringVar(&file, "file", "seriatim-debug.tar.gz", "file to write, which must not exist")
	return group("debug", "Collect diagnostics for a defect report", "", bundle)
}

// bundleError adds the exit code: servers that do not answer, or a file that cannot be written.
func bundleError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return exit.New(exit.Interrupted, err, "")
	case errors.Is(err, diagnose.ErrNobody):
		return exit.New(exit.Unavailable, err, adminHint)
	}
	return exit.New(exit.Failed, err, "")
}

// eachNode asks each admin port separately.
type eachNode struct{ wire *wire }

// Addresses returns the addresses of the admin ports.
func (n eachNode) Addresses() []string { return n.wire.admin.addresses }

// Get asks one of them.
func (n eachNode) Get(ctx context.Context, address, path string) (int, []byte, error) {
	only := *n.wire
	if strings.HasPrefix(n.wire.admin.addresses[0], "https:") && !strings.HasPrefix(address, "https:") {
		return 0, nil, fmt.Errorf("%s has no TLS, and the token would go there in the clear", address)
	}
	only.admin = &port{addresses: []string{address}, guessed: n.wire.admin.guessed}
	got, err := only.send(ctx, http.MethodGet, path, nil)
	return got.status, got.body, err
}

func printStatus(p *printer, s cluster.Status) error {
	role := s.Role
	if s.Drained {
		role += ", drained"
	}
	err := p.print(s, func() table {
		t := table{rows: [][]string{
			{"Node", s.NodeName + " (" + s.NodeID + ")"},
			{"Cluster", orDash(s.ClusterID)},
			{"Role", role},
			{"Leader", orDash(s.LeaderName)},
			{"Term", strconv.FormatUint(s.Term, 10)},
			{"Committed", strconv.FormatUint(s.CommitIndex, 10)},
			{"Applied", strconv.FormatUint(s.AppliedIndex, 10)},
			{"Snapshot", strconv.FormatUint(s.LastSnapshotIndex, 10)},
			{"Log time", clockTime(strconv.FormatInt(s.LogTimeMs, 10))},
			{"State hash", orDash(s.StateHash)},
			{"Version", s.Version},
		}}
		for _, warning := range s.Warnings {
			t.add("Warning", warning)
		}
		return t
	})
	if err != nil || !p.format.ForPeople() || len(s.Peers) == 0 {
		return err
	}
	if _, err := fmt.Fprintln(p.out); err != nil {
		return err
	}
	return p.print(nil, func() table {
		t := table{heading: []string{"MEMBER", "ADDRESS", "VOTER", "LAG", "LAST CONTACT"}}
		for _, m := range s.Peers {
			voter := "yes"
			if !m.Voter {
				voter = "no"
			}
			t.add(m.Name, orDash(m.Address), voter, known(m.LagEntries, decimal), known(m.LastContactMs, func(n int64) string {
				return (time.Duration(n) * time.Millisecond).String()
			}))
		}
		return t
	})
}

// known formats a value; a negative one is unknown.
func known(n int64, show func(int64) string) string {
	if n < 0 {
		return "-"
	}
	return show(n)
}
