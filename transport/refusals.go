package transport

import (
	"log/slog"
	"net"
	"time"

	"github.com/seriatimq/seriatim/cluster/hostlimit"
	"github.com/seriatimq/seriatim/transport/http1"
)

// Why a listener refuses a connection, beside what packages http1 and http2 find. The words
// are labels of a metric.
const (
	// refusedAddress: too many of its address are open.
	refusedAddress = "address"
	// refusedRoom: another connection needed the place, and this one had brought no request.
	refusedRoom = "room"
)

// newRefusals counts what one listener refuses.
func newRefusals(log *slog.Logger, now func() time.Time) *hostlimit.Refusals {
	began := now()
	return hostlimit.NewRefusals(log, func() time.Duration { return now().Sub(began) }, refusedAddress, refusedRoom,
		http1.RefusedSilent, http1.RefusedHandshake, http1.RefusedSlow, http1.RefusedFlood, http1.RefusedStreams)
}

// refuse counts a connection that was ended because of what its client did, or did not.
func (s *Server) refuse(why string, remote net.Addr, err error) {
	s.listener.refused.Refuse(why, slog.LevelInfo, refusalTexts[why], "remote", remote.String(), "reason", err)
}

var refusalTexts = map[string]string{
	http1.RefusedSilent:    "a connection brought no whole request in time",
	http1.RefusedHandshake: "a handshake of TLS failed",
	http1.RefusedSlow:      "a client was too slow with a body, or in reading its answer",
	http1.RefusedFlood:     "a connection was ended that kept the server busy with nothing",
	http1.RefusedStreams:   "refused a request over HTTP/2",
}

// Refused counts what a listener refused for one reason.
type Refused struct {
	Why   string
	Count uint64
}

// refusals are the counts of all reasons.
func (s *Server) refusals() (counts []Refused) {
	s.listener.refused.Each(func(why string, count uint64) { counts = append(counts, Refused{Why: why, Count: count}) })
	return counts
}
