package service

import (
	"errors"

	"github.com/seriatimq/seriatim/cluster"
)

// Failure classifies the errors of a Node that are no refusals of a rule.
type Failure uint8

// Failures. After all but OutcomeUnknown and Unexpected, nothing was written.
const (
	Unexpected Failure = iota // a defect of the server
	OutcomeUnknown
	UnderPressure // sends are refused, receives and deletes continue
	Overloaded
	UpgradeNeeded
	NoLeader
)

// FailureOf classifies an error and returns the text for the client, empty for Unexpected.
func FailureOf(err error) (Failure, string) {
	var pressure *cluster.PressureError
	var upgrade *cluster.UpgradeNeededError
	switch {
	case errors.Is(err, cluster.ErrOutcomeUnknown):
		return OutcomeUnknown, "The outcome of this request is unknown: it may or may not have taken effect. " +
			"Retry it with the same deduplication id or attempt id."
	case errors.As(err, &pressure):
		return UnderPressure, "Sends are refused at the moment: " + pressure.Reason +
			". Receives and deletes continue. Nothing was written, retry later."
	case errors.Is(err, cluster.ErrOverloaded):
		return Overloaded, "Reduce your request rate: too many requests are waiting to be written. Nothing was written."
	case errors.As(err, &upgrade):
		return UpgradeNeeded, "The cluster cannot do this yet: " + upgrade.Reason + ". Nothing was written."
	case errors.Is(err, cluster.ErrUnavailable), errors.Is(err, cluster.ErrNotLeader):
		return NoLeader, "The cluster has no leader at the moment. Nothing was written, retry."
	}
	return Unexpected, ""
}
