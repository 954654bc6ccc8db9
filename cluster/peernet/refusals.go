package peernet

import (
	"errors"
	"io"
	"log/slog"
	"net"
)

// refusal is the reason for refusing a connection.
type refusal uint8

const (
	refusedBusy      refusal = iota // too many handshakes are in progress
	refusedSilent                   // no handshake in time
	refusedHandshake                // no certificate of the cluster, or no node of this program
	refusedObjection                // a node of another cluster or version, or a dial to another node
	refusedExcess                   // too many connections of one node
	refusals
)

// name returns the label in metrics.
func (r refusal) name() string {
	return [refusals]string{"busy", "silent", "handshake", "objection", "excess"}[r]
}

// reasons returns all names.
func reasons() (names []string) {
	for why := range refusals {
		names = append(names, why.name())
	}
	return names
}

// refuse counts a refusal. It logs it, unless it recently logged one with the same reason.
func (p *Network) refuse(why refusal, level slog.Level, message string, attributes ...any) {
	p.refused.Refuse(why.name(), level, message, attributes...)
}

// RefuseQuestion counts and logs a question that a node may not ask.
func (p *Network) RefuseQuestion(from, asked string) {
	p.refuse(refusedObjection, slog.LevelWarn, "refused a question of another node", "from", from, "question", asked)
}

// Refusals calls each with the number of refused connections, by reason.
func (p *Network) Refusals(each func(why string, count uint64)) { p.refused.Each(each) }

// refuseHandshake counts a connection without a complete handshake.
func (p *Network) refuseHandshake(remote net.Addr, err error, late bool) {
	if p.ctx.Err() != nil {
		return // this node is stopping
	}
	if late || errors.Is(err, io.EOF) {
		p.refuse(refusedSilent, slog.LevelInfo, "a connection to the peer port made no handshake", "remote", remote.String())
		return
	}
	p.refuse(refusedHandshake, slog.LevelWarn, "refused a connection to the peer port", "remote", remote.String(), "reason", err)
}
