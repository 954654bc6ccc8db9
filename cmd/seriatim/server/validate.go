package server

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"

	"github.com/seriatimq/seriatim/transport"
)

// originText is what browsers send: scheme, host and perhaps a port; null is a
// page without an origin, as a file.
var originText = regexp.MustCompile(`^(\*|null|[a-z][a-z0-9+.-]*://[^/?#@\s]+)$`)

var accountIDs = regexp.MustCompile(`^[0-9]{12}$`)

// regions are labels, since they are part of ARNs and, one day, of host names.
var regions = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// requestBytesMin has room for ten messages of 1 MiB each of whose bytes JSON
// writes as six, twice.
const requestBytesMin = 128 << 20

// validate reports all that is wrong with the settings this package gives a
// meaning to; package cluster checks its own.
func (c Config) validate() error {
	var problems []error
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if !accountIDs.MatchString(c.API.Account) {
		wrong("account %q: 12 digits are wanted, as in 000000000000", c.API.Account)
	}
	if !regions.MatchString(c.API.Region) {
		wrong("region %q: lower-case letters, digits and dashes are wanted, as in us-east-1", c.API.Region)
	}
	if w := c.API.MinimumWindow; w < 1 || w > 20 {
		wrong("minimum-window %d: 1 to 20 seconds are wanted", w)
	}
	if len(c.Node.Join) > 0 && c.Node.BootstrapExpect == 1 {
		wrong("join is set and bootstrap-expect is 1, so this node would form a cluster alone: say how many nodes form the cluster, or 0 to only join one")
	}
	if _, err := logLevel(c.Logging.Level); err != nil {
		wrong("log-level: %w", err)
	}
	switch c.Logging.Format {
	case "auto", "json", "text":
	default:
		wrong("log-format %q: json, text or auto is wanted", c.Logging.Format)
	}
	if (c.Listen.TLSCert == "") != (c.Listen.TLSKey == "") {
		wrong("tls-cert and tls-key belong together: set both or none")
	}
	if (c.Listen.AdminCert == "") != (c.Listen.AdminKey == "") {
		wrong("admin-cert and admin-key belong together: set both or none")
	}
	if l := c.Listen; (l.PeerCert == "") != (l.PeerKey == "") || (l.PeerCert == "") != (l.PeerCA == "") {
		wrong("peer-cert, peer-key and peer-ca belong together: set all or none")
	}
	if problem := c.openPeers(); problem != nil {
		problems = append(problems, problem)
	}
	if l := c.Listen; l.AdminTokens == "" && !l.InsecureAdmin && !transport.LoopbackAddress(l.Admin) {
		wrong("admin-addr %s can be reached from other machines, and there is no admin-tokens-file: "+
			"make tokens with seriatim cert token NAME --role admin, or set insecure-admin if only operators reach it, which opens the port without tokens", l.Admin)
	}
	for _, origin := range c.Listen.AllowOrigin {
		if !originText.MatchString(origin) {
			wrong("allow-origin %q: an origin is wanted, as https://app.example.org, or *", origin)
		}
	}
	if err := c.Tracing.check(); err != nil {
		wrong("%w", err)
	}
	if _, err := allowedEndpoints(c.API); err != nil {
		wrong("%w", err)
	}
	for _, positive := range []struct {
		name  string
		value int64
	}{
		{"promote-after", int64(c.Node.PromoteAfter)},
		{"max-connections", int64(c.Limits.Connections)},
		{"max-streams", int64(c.Limits.Streams)},
		{"request-timeout", int64(c.Limits.RequestTimeout)},
		{"proposal-queue-size", int64(c.Limits.QueueBytes)},
		{"log-segment-size", int64(c.Storage.SegmentBytes)},
		{"log-cache-size", int64(c.Storage.CacheBytes)},
		{"body-cache-size", int64(c.Storage.BodyCacheBytes)},
		{"body-segment-size", int64(c.Storage.BodySegmentBytes)},
		{"body-scrub-interval", int64(c.Storage.BodyScrubPause)},
		{"snapshot-log-size", int64(c.Storage.SnapshotLogBytes)},
		{"snapshot-rate", int64(c.Storage.SnapshotRate)},
		{"disk-deadline", int64(c.Storage.DiskDeadline)},
		{"audit-interval", int64(c.Storage.AuditInterval)},
		{"audit-entries", int64(c.Storage.AuditEntries)},
		{"clock-skew-max", int64(c.Timing.ClockSkew)},
		{"heartbeat-timeout", int64(c.Timing.Heartbeat)},
		{"shutdown-timeout", int64(c.Timing.Shutdown)},
	} {
		if positive.value <= 0 {
			wrong("%s must be above zero", positive.name)
		}
	}
	if c.Limits.RequestBytes < requestBytesMin {
		wrong("request-memory-max must be at least %s, so that the largest answer has room", Size(requestBytesMin))
	}
	if c.Limits.PerAddress < 0 {
		wrong("max-connections-per-address must not be negative")
	}
	if c.Limits.MetricQueues < 0 {
		wrong("metrics-queues must not be negative")
	}
	return errors.Join(problems...)
}

// openPeers returns an error if other programs can reach the ports between nodes and act as
// a node.
func (c Config) openPeers() error {
	l := c.Listen
	if l.InsecurePeers || l.PeerCert != "" && c.Node.GossipKeyFile != "" {
		return nil
	}
	const advice = "make the files with seriatim cert ca and, for each node, seriatim cert issue NODE, or set insecure-peers if no other program reaches these ports"
	for _, port := range []struct{ setting, address string }{{"peer-addr", l.Peer}, {"gossip-addr", l.Gossip}} {
		if !transport.LoopbackAddress(port.address) {
			return fmt.Errorf("%s %s can be reached from other machines, and without peer-cert, peer-key, peer-ca and gossip-key-file every program that does so is believed to be a node: "+
				advice, port.setting, port.address)
		}
	}
	if c.alone() {
		return nil
	}
	return errors.New("without peer-cert, peer-key, peer-ca and gossip-key-file every program on this machine is believed to be a node: " + advice)
}

// checkFiles reports what else a start would find: settings that the node refuses,
// and files that cannot be used.
func (c Config) checkFiles() error {
	certificates, err := openCertificates(c.Listen, slog.New(slog.DiscardHandler))
	_, refused := program{}.clusterConfig(c, certificates)
	_, unread := openTokens(c.Listen, slog.New(slog.DiscardHandler))
	_, noKey := program{log: slog.New(slog.DiscardHandler)}.firstKey(c)
	return errors.Join(err, refused, unread, noKey)
}

func logLevel(text string) (slog.Level, error) {
	switch text {
	case "debug", "info", "warn", "error":
	default:
		return 0, fmt.Errorf("%q: debug, info, warn or error is wanted", text)
	}
	var level slog.Level
	err := level.UnmarshalText([]byte(text))
	return level, err
}
