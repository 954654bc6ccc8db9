package peernet

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"
)

// refusal is why a connection that somebody opened to this node is not used.
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

// refusalPause is how long a refusal is not logged again: whoever reaches the port can
// cause as many as he likes.
const refusalPause = 30 * time.Second

// refusalCounts counts refusals. Safe for concurrent use.
type refusalCounts struct {
	mu     sync.Mutex
	counts [refusals]refusalCount
}

type refusalCount struct {
	total  uint64
	logged uint64 // of them up to the last line in the log
	at     time.Duration
}

// refuse counts a refusal, and logs it unless it logged one of the kind not long ago.
func (p *Network) refuse(why refusal, level slog.Level, message string, attributes ...any) {
	now := p.clock.Monotonic()
	r := &p.refusals
	r.mu.Lock()
	c := &r.counts[why]
	c.total++
	if c.logged != 0 && now-c.at < refusalPause {
		r.mu.Unlock()
		return
	}
	if unlogged := c.total - c.logged - 1; unlogged > 0 {
		attributes = append(attributes, "more_since_last", unlogged)
	}
	c.logged, c.at = c.total, now
	r.mu.Unlock()
	p.options.Logger.Log(p.ctx, level, message, attributes...) //nolint:sloglint // constants of the callers
}

// Refusals calls each with the number of connections that were refused, by a word for why.
func (p *Network) Refusals(each func(why string, count uint64)) {
	p.refusals.mu.Lock()
	counts := p.refusals.counts
	p.refusals.mu.Unlock()
	for why, c := range counts {
		each(refusal(why).name(), c.total)
	}
}

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
