package client

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seriatimq/seriatim/cmd/seriatim/arguments"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// status is the answer of GET /v1/status, a contract with other programs.
type status struct {
	NodeID            string `json:"nodeId"`
	NodeName          string `json:"nodeName"`
	ClusterID         string `json:"clusterId"`
	Role              string `json:"role"`
	Term              uint64 `json:"term"`
	LeaderID          string `json:"leaderId"`
	LeaderName        string `json:"leaderName"`
	CommitIndex       uint64 `json:"commitIndex"`
	AppliedIndex      uint64 `json:"appliedIndex"`
	LastSnapshotIndex uint64 `json:"lastSnapshotIndex"`
	LogTimeMs         int64  `json:"logTimeMs"`
	StateHash         string `json:"stateHash"`
	Version           string `json:"version"`
	Drained           bool   `json:"drained"`
	ClockOffMs        int64  `json:"clockOffMs"`

	Warnings []string `json:"warnings"`
	Peers    []peer   `json:"peers"`
}

// peer is one member as the asked node sees it; -1 is unknown.
type peer struct {
	NodeID        string `json:"nodeId"`
	Name          string `json:"name"`
	Address       string `json:"address"`
	Voter         bool   `json:"voter"`
	LagEntries    int64  `json:"lagEntries"`
	LastContactMs int64  `json:"lastContactMs"`
	ClockAheadMs  *int64 `json:"clockAheadMs"`
}

func statusCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show one node and what it knows of the cluster", Args: arguments.None,
		Long: "Show one node and what it knows of the cluster.\n\nExit code 5 means that no server answers or that the cluster has no leader.",
		Example: "  seriatim status\n  seriatim status --admin 127.0.0.1:9335 -o json | jq .role\n" +
			"  seriatim status -o json | jq '.peers[] | select(.lagEntries > 1000)'   # ask the leader for lags",
		RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
			var s status
			if err := w.get(cmd.Context(), "/v1/status", nil, &s); err != nil {
				return err
			}
			if err := printStatus(p, s); err != nil {
				return err
			}
			if s.Role == "waiting" {
				return exit.New(exit.Unavailable, errors.New("the node belongs to no cluster yet"), "seriatim cluster status says what it waits for")
			}
			if s.LeaderID == "" {
				return exit.New(exit.Unavailable, errors.New("the cluster has no leader"),
					"a majority of its nodes must run and reach each other's peer ports")
			}
			return nil
		}),
	}
}

// checkCommand asks what probes ask, for where nothing else can: an image of the program
// has no other.
func checkCommand(o *options) *cobra.Command {
	one := func(use, path, short string) *cobra.Command {
		return &cobra.Command{
			Use: use, Short: short, Args: arguments.None,
			Example: "  seriatim check " + use + " --admin 10.0.0.1:9325",
			RunE: o.run(func(cmd *cobra.Command, w *wire, p *printer, _ []string) error {
				got, err := w.send(cmd.Context(), w.admin, request{method: http.MethodGet, path: path, repeatable: true})
				if err != nil {
					return err
				}
				text := strings.TrimSpace(string(got.body))
				if got.status != http.StatusOK {
					return exit.New(exit.Failed, errors.New(text), "")
				}
				return p.print(map[string]string{"check": use, "answer": text}, func() table { return table{rows: [][]string{{use, text}}} })
			}),
		}
	}
	return group("check", "Ask one question and answer with the exit code",
		"Ask one question and answer with the exit code: 0 yes, 1 no, 5 nobody answers. No token is needed.",
		one("live", "/livez", "Whether the process works"),
		one("ready", "/readyz", "Whether the node can answer clients"))
}

func printStatus(p *printer, s status) error {
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
	if err != nil || p.format == formatJSON || len(s.Peers) == 0 {
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

// known shows a value that only some nodes know; -1 is the contract's unknown.
func known(n int64, show func(int64) string) string {
	if n < 0 {
		return "-"
	}
	return show(n)
}
