package peernet

import (
	"errors"
	"io"
	"log/slog"
	"net"
)

// refusal is the reason why this node refuses a connection.
type refusal uint8

const (
	refusedBusy      refusal = iota // too many have not said yet who they are
	refusedSilent                   // it did not say who it is, or not in time
	refusedHandshake                // it has no certificate of the cluster, or is no node of this program
	refusedObjection                // a node of another cluster, of another version, or in search of another node
	refusedExcess                   // one node has too many open
	refusals
)

// name is the label of a refusal in metrics.
func (r refusal) name() string {
	return [refusals]string{"busy", "silent", "handshake", "objection", "excess"}[r]
}

// reasons are the names of all.
func reasons() (names []string) {
	for why := range refusals {
		names = append(names, why.name())
	}
	return names
}

// refuse counts a refusal, and logs it unless it logged one of the kind not long ago.
func (p *Network) refuse(why refusal, level slog.Level, message string, attributes ...any) {
	p.refused.Refuse(why.name(), level, message, attributes...)
}

// RefuseQuestion counts and logs a question that a node may not ask.
func (p *Network) RefuseQuestion(from, asked string) {
	p.refuse(refusedObjection, slog.LevelWarn, "refused a question of another node", "from", from, "question", asked)
}

// Refusals calls each with the number of connections that were refused, by a word for why.
func (p *Network) Refusals(each func(why string, count uint64)) { p.refused.Each(each) }

// refuseHandshake is about a connection that never said who it is.
func (p *Network) refuseHandshake(remote net.Addr, err error, late bool) {
	if p.ctx.Err() != nil {
		return // this node closed it, as it stops
	}
	if late || errors.Is(err, io.EOF) {
		p.refuse(refusedSilent, slog.LevelInfo, "a connection to the peer port did not say who it is", "remote", remote.String())
		return
	}
	p.refuse(refusedHandshake, slog.LevelWarn, "refused a connection to the peer port", "remote", remote.String(), "reason", err)
}
