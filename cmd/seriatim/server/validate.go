package server

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"

	"github.com/seriatimq/seriatim/transport"
)

// originText matches the header Origin of browsers: scheme, host and optional port, or null for a
// page without an origin, such as a file.
var originText = regexp.MustCompile(`^(\*|null|[a-z][a-z0-9+.-]*://[^/?#@\s]+)$`)

var accountIDs = regexp.MustCompile(`^[0-9]{12}$`)

// regions matches DNS labels, because host names may contain a region.
var regions = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// requestBytesMin has room for two answers with 10 MiB of message bodies, each byte of which JSON
// can write as six.
const requestBytesMin = 128 << 20

// validate returns all errors in the settings that this package uses. Package cluster checks the
// others.
func (c Config) validate() error {
	var problems []error
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if !accountIDs.MatchString(c.API.Account) {
		wrong("account %q must have 12 digits, such as 000000000000", c.API.Account)
	}
	if !regions.MatchString(c.API.Region) {
		wrong("region %q must consist of lower-case letters, digits and dashes, such as us-east-1", c.API.Region)
	}
	if w := c.API.MinimumWindow; w < 1 || w > 20 {
		wrong("minimum-window %d must be 1 to 20 seconds", w)
	}
	if len(c.Node.Join) > 0 && c.Node.BootstrapExpect == 1 {
		wrong("join is set and bootstrap-expect is 1, so this node would form a cluster alone. Set bootstrap-expect to the number of " +
			"nodes, or to 0 to only join a cluster")
	}
	if _, err := logLevel(c.Logging.Level); err != nil {
		wrong("log-level: %w", err)
	}
	switch c.Logging.Format {
	case "auto", "json", "text":
	default:
		wrong("log-format %q must be json, text or auto", c.Logging.Format)
	}
	if (c.Listen.TLSCert == "") != (c.Listen.TLSKey == "") {
		wrong("tls-cert and tls-key belong together: set both or none")
	}
	if c.Listen.AMQPS != "" && c.Listen.TLSCert == "" {
		wrong("amqps-addr needs a certificate: set tls-cert and tls-key")
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
		wrong("other machines can reach admin-addr %s, and admin-tokens-file is not set. "+
			"Make tokens with seriatim cert token NAME --role admin, or set insecure-admin if only operators reach the port", l.Admin)
	}
	for _, origin := range c.Listen.AllowOrigin {
		if !originText.MatchString(origin) {
			wrong("allow-origin %q must be an origin such as https://app.example.org, or *", origin)
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
	const missing, advice = "peer-cert, peer-key, peer-ca or gossip-key-file is missing",
		"make the files with seriatim cert ca and seriatim cert issue, or set insecure-peers if no other program reaches these ports"
	for _, port := range []struct{ setting, address string }{{"peer-addr", l.Peer}, {"gossip-addr", l.Gossip}} {
		if !transport.LoopbackAddress(port.address) {
			return fmt.Errorf("other machines can reach %s %s, and %s. Every program there could act as a node; %s", port.setting,
				port.address, missing, advice)
		}
	}
	if c.alone() {
		return nil
	}
	return errors.New(missing + ". Every program on this machine could act as a node; " + advice)
}

// checkFiles returns the other errors of a start: settings that the node refuses, and unusable
// files.
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
		return 0, fmt.Errorf("%q must be debug, info, warn or error", text)
	}
	var level slog.Level
	err := level.UnmarshalText([]byte(text))
	return level, err
}
