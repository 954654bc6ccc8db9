package diagnose

import (
	"cmp"
	"context"
	"net/http"
	"time"
)

// Finding is the outcome of a check, with what to do about it.
type Finding struct {
	Outcome
	Advice string `json:"advice,omitempty"` // empty if all is well, or nothing was found out
}

// Diagnosis is what all checks found.
type Diagnosis struct {
	Level    string    `json:"level"` // the worst
	Findings []Finding `json:"findings"`
}

// advice is what to do about a check that is not good.
var advice = map[string]string{
	"ready":  "read why it is not ready, and its log: docs/manual/runbooks.md#seriatimnodenotready",
	"quorum": "start or replace the nodes that are away: docs/manual/runbooks.md#seriatimquorumlost; if most of them will never come back: seriatim cluster force-recover, docs/manual/backup.md#a-lost-majority",
	"disk":   "free space or make the disk larger before sends are refused: docs/manual/runbooks.md#seriatimdisklow",
	"certs":  "replace the certificate; it is read again without a restart: docs/manual/runbooks.md#seriatimcertificateexpires",
	"clock":  "see whether the clocks are set by NTP: docs/manual/runbooks.md#seriatimclockskew",
	"lag":    "look at the disk and the network of the node: docs/manual/runbooks.md#seriatimpeerlag",
	"dlq":    "look at the messages, and move them back when their receivers are mended: docs/manual/runbooks.md#seriatimdeadletters",
}

// Diagnose asks every node whether it is ready, and runs all checks with their own
// thresholds.
func Diagnose(ctx context.Context, nodes Nodes, now time.Time) (d Diagnosis, worst Level) {
	note := func(o Outcome) {
		f := Finding{Outcome: o}
		if o.level == Warning || o.level == Critical {
			f.Advice = cmp.Or(o.advice, advice[o.Check])
		}
		d.Findings = append(d.Findings, f)
		worst = worse(worst, o.level)
	}
	for _, address := range nodes.Addresses() {
		note(readiness(ctx, nodes, address))
	}
	for _, check := range Checks() {
		outcome, _ := check.Run(ctx, nodes, now, check.Warn, check.Crit)
		note(outcome)
	}
	d.Level = worst.String()
	return d, worst
}

// readiness asks one node what probes ask.
func readiness(ctx context.Context, nodes Nodes, address string) Outcome {
	o := Outcome{Check: "ready", Of: address}
	status, body, err := nodes.Get(ctx, address, "/readyz")
	switch {
	case err != nil:
		o.level, o.Note = Critical, address+" does not answer: "+err.Error()
	case status != http.StatusOK:
		o.level, o.Note = Critical, address+": "+sentence(body)
	default:
		o.Note = address + " is ready"
	}
	o.Level = o.level.String()
	return o
}

// worse is the level to worry about: what is not known may be as bad as can be, but what is
// known to be critical comes first.
func worse(a, b Level) Level {
	rank := [...]int{OK: 0, Warning: 1, Unknown: 2, Critical: 3}
	if rank[b] > rank[a] {
		return b
	}
	return a
}
