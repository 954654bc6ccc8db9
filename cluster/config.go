package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"time"

	"github.com/seriatimq/seriatim/cluster/audit"
	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/health"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/membership"
	"github.com/seriatimq/seriatim/cluster/storage"
	"github.com/seriatimq/seriatim/cluster/storage/bodies"
	"github.com/seriatimq/seriatim/fsm/format"
)

// Config configures one node of a cluster. Settings that the nodes must agree on are not here:
// they are replicated (see ClusterSettings).
type Config struct {
	NodeName        string   // from the operator; the node id is derived from it
	DataDir         string   // directory of everything that this node keeps
	PeerAddr        string   // host:port to bind for raft and calls between nodes
	GossipAddr      string   // host:port to bind for gossip, TCP and UDP
	AdvertisePeer   string   // host:port other nodes dial; default: the bound one
	AdvertiseGossip string   // host:port other nodes gossip with; default: the bound one
	Join            []string // gossip addresses at which to find the other nodes
	BootstrapExpect int      // number of initial members of a new cluster; 0: never bootstrap one

	Trust    Trust
	Log      LogPolicy
	Snapshot SnapshotPolicy
	Timing   Timing
	Limits   RequestLimits
	Settings ClusterSettings
	Members  membership.Policy

	// Measure returns the findings of the rest of the program about this node, for status and
	// checks; may be nil.
	Measure func() []health.Finding
	// OnDrain is called when the draining of this node begins or ends; may be nil.
	OnDrain func(drained bool)

	AdminURL string // of the admin port, shown by status; if it has no host, that of the peer port is used

	Version string                      // of the program, shown to the other nodes
	Clock   environment.Clock           // default SystemClock()
	Logger  *slog.Logger                // default slog.Default()
	Fatal   func(fault.ExitCode, error) // ends the process; must not return

	// Poster makes the deliveries of topics over HTTP; nil: they wait.
	Poster leader.Poster
	// FirstKey supplies the first access key of a new cluster; nil: it gets none.
	FirstKey FirstKey

	environment.Environment
}

// Trust proves that other nodes belong to the cluster.
type Trust struct {
	GossipKey []byte   // 16, 24 or 32 bytes to encrypt gossip; none: clear text
	Peers     *PeerTLS // certificates of the peer port; nil: clear text
}

// LogPolicy configures the storage of the replicated log and of the bodies in it.
type LogPolicy struct {
	Store        string // LogStoreWAL or LogStoreBoltDB; default LogStoreWAL
	SegmentBytes int    // preallocated size of one file of the wal; default 64 MiB
	CacheBytes   int    // newest entries kept in memory for followers; default 32 MiB
	Audit        audit.Policy
	Bodies       BodyPolicy
	Encryption   EncryptionPolicy
	// FormatMax is the highest format version that this node reads; default: that of the
	// program. Tests of mixed clusters set another.
	FormatMax uint32
}

func (c Config) logOptions() storage.LogOptions {
	return storage.LogOptions{
		Store:         c.Log.Store,
		SegmentBytes:  c.Log.SegmentBytes,
		CacheBytes:    c.Log.CacheBytes,
		TrailingBytes: c.Snapshot.TrailingBytes,
		SnapshotBytes: c.Snapshot.LogBytes,
	}
}

// Timing holds the timeouts of consensus and of the disks. The defaults suit a
// local network.
type Timing struct {
	Heartbeat    time.Duration // a follower without contact for this time asks for an election; default 1.5s
	Election     time.Duration // the time that a candidate waits for votes; default Heartbeat
	Lease        time.Duration // a leader without a majority for this time steps down; default and at most half of Heartbeat
	Commit       time.Duration // an idle leader sends the commit index after this time; default 25ms, at most a quarter of Heartbeat
	DiskDeadline time.Duration // a write or sync that takes longer ends the process; default 10s
	Enqueue      time.Duration // a proposal that the log does not take within this time is not made; default 2s
	RPC          time.Duration // one exchange between nodes; default 5s
	Dial         time.Duration // connecting and shaking hands; default 2s
	// ClockSkewMax bounds the difference between this node's clock and the median of a
	// majority. Beyond it the node hands leadership over; default 30s.
	ClockSkewMax time.Duration
}

// ofGroups returns the timeouts of consensus.
func (t Timing) ofGroups() consensus.Timing {
	return consensus.Timing{
		Heartbeat: t.Heartbeat, Election: t.Election, Lease: t.Lease, Commit: t.Commit, Enqueue: t.Enqueue, RPC: t.RPC,
	}
}

const (
	defaultSnapshotPace  = 64 << 20
	defaultAuditInterval = 30 * time.Second
	defaultAuditEntries  = 10_000
	defaultClockSkewMax  = 30 * time.Second
)

// nodeNames are short and plain: a name is part of gossip metadata (512 bytes in all), of file
// names and of metric labels.
var nodeNames = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// WithDefaults returns the configuration with every unset field filled in.
func (c Config) WithDefaults() Config {
	logs := storage.DefaultLogOptions()
	setDefault(&c.Log.Store, logs.Store)
	setDefault(&c.Log.SegmentBytes, logs.SegmentBytes)
	setDefault(&c.Log.CacheBytes, logs.CacheBytes)
	setDefault(&c.Log.Audit.Interval, defaultAuditInterval)
	setDefault(&c.Log.Audit.Entries, defaultAuditEntries)
	setDefault(&c.Log.FormatMax, format.CurrentVersion)
	setDefault(&c.Log.Bodies.Store, BodiesInSegments)
	setDefault(&c.Snapshot.LogBytes, logs.SnapshotBytes)
	setDefault(&c.Snapshot.TrailingBytes, logs.TrailingBytes)
	setDefault(&c.Snapshot.BytesPerSecond, defaultSnapshotPace)
	setDefault(&c.Snapshot.SyncBytes, storage.DefaultSyncBytes)
	setDefault(&c.Timing.Heartbeat, 1500*time.Millisecond)
	setDefault(&c.Timing.Election, c.Timing.Heartbeat)
	setDefault(&c.Timing.Lease, c.Timing.Heartbeat/2)
	setDefault(&c.Timing.Commit, min(25*time.Millisecond, c.Timing.Heartbeat/4))
	setDefault(&c.Timing.DiskDeadline, 10*time.Second)
	setDefault(&c.Timing.Enqueue, 2*time.Second)
	setDefault(&c.Timing.RPC, 5*time.Second)
	setDefault(&c.Timing.Dial, 2*time.Second)
	setDefault(&c.Timing.ClockSkewMax, defaultClockSkewMax)
	if c.Clock == nil {
		c.Clock = environment.SystemClock()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Environment = c.Environment.WithDefaults()
	c.Limits = c.Limits.withDefaults()
	c.Members = c.Members.WithDefaults()
	c.Settings = c.Settings.WithDefaults()
	return c
}

func setDefault[T comparable](field *T, value T) {
	var unset T
	if *field == unset {
		*field = value
	}
}

// Validate returns everything that is wrong with the configuration, joined.
func (c Config) Validate() error {
	var problems []error
	wrong := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf(format, args...))
	}
	if !nodeNames.MatchString(c.NodeName) {
		wrong("node name %q: 1 to 63 letters, digits, dots, dashes or underscores, beginning with a letter or digit", c.NodeName)
	}
	if c.DataDir == "" {
		wrong("the data directory is not set")
	}
	for name, address := range map[string]string{"peer address": c.PeerAddr, "gossip address": c.GossipAddr} {
		if _, _, err := net.SplitHostPort(address); err != nil {
			wrong("%s %q: %w", name, address, err)
		}
	}
	advertised := map[string]string{"advertised peer address": c.AdvertisePeer, "advertised gossip address": c.AdvertiseGossip}
	for name, address := range advertised {
		if _, _, err := net.SplitHostPort(address); address != "" && err != nil {
			wrong("%s %q: %w", name, address, err)
		}
	}
	if c.BootstrapExpect < 0 {
		wrong("bootstrap-expect %d is negative", c.BootstrapExpect)
	}
	if c.BootstrapExpect > 1 && len(c.Join) == 0 {
		wrong("bootstrap-expect %d needs addresses to join, or the nodes never find each other", c.BootstrapExpect)
	}
	switch len(c.Trust.GossipKey) {
	case 0, 16, 24, 32:
	default:
		wrong("the gossip key has %d bytes, it must have 16, 24 or 32", len(c.Trust.GossipKey))
	}
	if c.Log.Store != storage.LogStoreWAL && c.Log.Store != storage.LogStoreBoltDB {
		wrong("log store %q: it must be %q or %q", c.Log.Store, storage.LogStoreWAL, storage.LogStoreBoltDB)
	}
	if c.Log.Bodies.Store != BodiesInMemory && c.Log.Bodies.Store != BodiesInSegments {
		wrong("body store %q: it must be %q or %q", c.Log.Bodies.Store, BodiesInMemory, BodiesInSegments)
	}
	if max(int64(c.Log.SegmentBytes), c.Log.Bodies.SegmentBytes) > bodies.SegmentBytesMax {
		wrong("segments of the log and of bodies have at most %d MiB", bodies.SegmentBytesMax>>20)
	}
	if c.Members.Voters < 0 {
		wrong("the number of voters %d is negative", c.Members.Voters)
	}
	if 2*c.Timing.Lease > c.Timing.Heartbeat {
		wrong("the leader lease (%v) is longer than half of the heartbeat timeout (%v). Followers replace a silent leader "+
			"after that half, so it must step down by then", c.Timing.Lease, c.Timing.Heartbeat)
	}
	if c.Fatal == nil {
		wrong("no function to end the process is set")
	}
	return errors.Join(problems...)
}
