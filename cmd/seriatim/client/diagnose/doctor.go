package diagnose

import (
	"context"

	"github.com/seriatimq/seriatim/cluster/health"
)

// Finding is the outcome of a check with advice.
type Finding struct {
	Outcome
	Advice string `json:"advice,omitempty"` // empty if the level is OK or unknown
}

// Diagnosis holds the outcomes of all checks.
type Diagnosis struct {
	Level    health.Level `json:"level"` // the worst
	Findings []Finding    `json:"findings"`
}

// Diagnose runs all checks with their default thresholds on all members of the cluster. A given
// node that does not answer is a finding, too.
func Diagnose(ctx context.Context, nodes Nodes) (d Diagnosis) {
	note := func(o Outcome, advice string) {
		f := Finding{Outcome: o}
		if o.Level == health.Warning || o.Level == health.Critical {
			f.Advice = advice
		}
		d.Findings = append(d.Findings, f)
		d.Level = health.Worse(d.Level, o.Level)
	}
	members, _ := health.Named(health.Members)
	for _, address := range nodes.Addresses() {
		if _, _, err := nodes.Get(ctx, address, "/livez"); err != nil {
			note(Outcome{Check: members.Name, Level: health.Critical, Unit: members.Unit, Of: address,
				Note: address + " does not answer: " + err.Error()}, members.Advice)
		}
	}
	c, err := Ask(ctx, nodes)
	for _, check := range health.Checks() {
		for _, o := range checked(ctx, c, err, check, check.Warn, check.Crit) {
			note(o, check.Advice)
		}
	}
	return d
}
