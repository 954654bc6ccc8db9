package codec

import (
	"fmt"
	"math"

	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/fsmpb"
	"github.com/seriatimq/seriatim/queue"
)

// confirmSubscriptionMessage is the log form of cmd.
func confirmSubscriptionMessage(cmd *queue.ConfirmSubscription) *fsmpb.ConfirmSubscription {
	return &fsmpb.ConfirmSubscription{
		Topic: cmd.Topic, Token: cmd.Token, Signed: cmd.Signed, AuthenticateOnUnsubscribe: cmd.AuthenticateOnUnsubscribe,
	}
}

// confirmSubscriptionCommand is the inverse of confirmSubscriptionMessage.
func confirmSubscriptionCommand(m *fsmpb.ConfirmSubscription) (*queue.ConfirmSubscription, error) {
	return &queue.ConfirmSubscription{
		Topic: m.Topic, Token: m.Token, Signed: m.Signed, AuthenticateOnUnsubscribe: m.AuthenticateOnUnsubscribe,
	}, nil
}

// reportDeliveriesMessage is the log form of cmd.
func reportDeliveriesMessage(cmd *queue.ReportDeliveries) *fsmpb.ReportDeliveries {
	m := &fsmpb.ReportDeliveries{Reports: make([]*fsmpb.DeliveryReport, len(cmd.Reports))}
	for i, r := range cmd.Reports {
		m.Reports[i] = &fsmpb.DeliveryReport{
			Subscription: r.Subscription, Number: r.Number, Attempts: r.Attempts, Outcome: uint32(r.Outcome),
		}
	}
	return m
}

// reportDeliveriesCommand is the inverse of reportDeliveriesMessage.
func reportDeliveriesCommand(m *fsmpb.ReportDeliveries) (*queue.ReportDeliveries, error) {
	cmd := &queue.ReportDeliveries{}
	if len(m.Reports) > 0 {
		cmd.Reports = make([]queue.DeliveryReport, len(m.Reports))
	}
	for i, r := range m.Reports {
		if r.Outcome > math.MaxUint8 {
			return nil, fmt.Errorf("%w: the outcome %d of a delivery", format.ErrMalformed, r.Outcome)
		}
		cmd.Reports[i] = queue.DeliveryReport{
			Subscription: r.Subscription, Number: r.Number, Attempts: r.Attempts, Outcome: queue.DeliveryOutcome(r.Outcome),
		}
	}
	return cmd, nil
}
