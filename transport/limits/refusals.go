package limits

import (
	"log/slog"
	"net"
	"time"

	"github.com/seriatimq/seriatim/cluster/hostlimit"
)

// Reasons to refuse or end a connection; labels of a metric.
const (
	// RefusedAddress: the address of the client has too many connections.
	RefusedAddress = "address"
	// RefusedRoom: another connection needed the place, and this one had sent no whole request.
	RefusedRoom = "room"
	// RefusedSilent: no whole request came in time.
	RefusedSilent = "silent"
	// RefusedHandshake: the TLS handshake failed or did not end in time.
	RefusedHandshake = "handshake"
	// RefusedSlow: a body did not come in time, or an answer was not read.
	RefusedSlow = "slow"
	// RefusedFlood: the client sent too many useless frames.
	RefusedFlood = "flood"
	// RefusedStreams: too many requests over HTTP/2 are in progress.
	RefusedStreams = "streams"
)

var refusalTexts = map[string]string{
	RefusedSilent:    "a connection brought no whole request in time",
	RefusedHandshake: "a handshake of TLS failed",
	RefusedSlow:      "a client was too slow with a body, or in reading its answer",
	RefusedFlood:     "a connection was ended that kept the server busy with nothing",
	RefusedStreams:   "refused a request over HTTP/2",
}

// newRefusals counts the refusals of one listener.
func newRefusals(log *slog.Logger, now func() time.Time) *hostlimit.Refusals {
	began := now()
	return hostlimit.NewRefusals(log, func() time.Duration { return now().Sub(began) },
		RefusedAddress, RefusedRoom, RefusedSilent, RefusedHandshake, RefusedSlow, RefusedFlood, RefusedStreams)
}

// Refuse counts a connection that a server refused or ended because of its client.
func (l *Listener) Refuse(why string, remote net.Addr, err error) {
	l.refused.Refuse(why, slog.LevelInfo, refusalTexts[why], "remote", remote.String(), "reason", err)
}

// Refused counts the refusals of a listener for one reason.
type Refused struct {
	Why   string
	Count uint64
}

// refusals returns the counts of all reasons.
func (l *Listener) refusals() (counts []Refused) {
	l.refused.Each(func(why string, count uint64) { counts = append(counts, Refused{Why: why, Count: count}) })
	return counts
}
