package server

import (
	"crypto/rand"
	"fmt"
	"net/netip"
	"strconv"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/storage/encryption"
)

// clusterConfig converts the settings for package cluster, which checks them.
func (p program) clusterConfig(cfg Config, certificates certificates) (cluster.Config, error) {
	trust, err := certificates.trust(cfg)
	if err != nil {
		return cluster.Config{}, err
	}
	var keys *encryption.Keyring
	if cfg.Node.EncryptionKeyFile != "" {
		if keys, err = encryption.ReadKeyFile(cfg.Node.EncryptionKeyFile, rand.Reader); err != nil {
			return cluster.Config{}, fmt.Errorf("encryption-key-file: %w", err)
		}
	}
	format := uint64(0)
	if p.formatMax != "" {
		if format, err = strconv.ParseUint(p.formatMax, 10, 8); err != nil {
			return cluster.Config{}, fmt.Errorf("the linked highest format: %w", err)
		}
	}
	c := cluster.Config{
		NodeName: cfg.Node.Name, DataDir: cfg.Node.DataDir, Join: cfg.Node.Join, BootstrapExpect: cfg.Node.BootstrapExpect,
		PeerAddr: cfg.Listen.Peer, GossipAddr: cfg.Listen.Gossip,
		AdvertisePeer: cfg.Listen.AdvertisePeer, AdvertiseGossip: cfg.Listen.AdvertiseGossip, Trust: trust,
		Log: cluster.LogPolicy{
			Store: cfg.Storage.LogStore, SegmentBytes: int(cfg.Storage.SegmentBytes), CacheBytes: int(cfg.Storage.CacheBytes),
			Audit:      cluster.AuditPolicy{Interval: cfg.Storage.AuditInterval, Entries: uint64(cfg.Storage.AuditEntries)},
			FormatMax:  uint32(format),
			Bodies:     bodyPolicy(&cfg.Storage),
			Encryption: cluster.EncryptionPolicy{Keys: keys, AcceptKMSKeys: cfg.API.AcceptKMSKeys},
		},
		Snapshot: cluster.SnapshotPolicy{
			LogBytes: int64(cfg.Storage.SnapshotLogBytes), TrailingBytes: int64(cfg.Storage.TrailingBytes),
			BytesPerSecond: int64(cfg.Storage.SnapshotRate),
		},
		Timing: cluster.Timing{Heartbeat: cfg.Timing.Heartbeat, DiskDeadline: cfg.Storage.DiskDeadline, ClockSkewMax: cfg.Timing.ClockSkew},
		Limits: cluster.RequestLimits{
			Timeout: cfg.Limits.RequestTimeout, QueueBytes: int(cfg.Limits.QueueBytes), QueueTotals: cfg.Limits.MetricQueues,
			Pressure: cluster.PressureLimits{
				StateBytes: int64(cfg.Limits.StateBytes), ServeDiverged: cfg.Storage.ServeDiverged,
				DiskRefuse: cluster.DiskMark(cfg.Storage.DiskRefuse), DiskResign: cluster.DiskMark(cfg.Storage.DiskResign),
			},
		},
		Settings: cluster.ClusterSettings{MinimumWindowSeconds: cfg.API.MinimumWindow, AWSCooldowns: cfg.API.AWSCooldowns},
		Members:  cluster.MembershipPolicy{ManualJoin: !cfg.Node.AutoJoin, Voters: cfg.Node.Voters, PromoteAfter: cfg.Node.PromoteAfter},
		Version:  p.version,
		Logger:   p.log,
		Fatal:    p.fatal,
	}
	return c, c.WithDefaults().Validate()
}

// bodyPolicy returns the settings of the body store.
func bodyPolicy(cfg *StorageConfig) cluster.BodyPolicy {
	return cluster.BodyPolicy{
		Store: cfg.BodyStore, CacheBytes: int64(cfg.BodyCacheBytes), SegmentBytes: int64(cfg.BodySegmentBytes),
		Scrub: cluster.ScrubPolicy{BytesPerSecond: int64(cfg.BodyScrubRate), Interval: cfg.BodyScrubPause},
	}
}

// allowedEndpoints reads sns-allow-endpoints.
func allowedEndpoints(api APIConfig) (networks []netip.Prefix, err error) {
	for _, text := range api.SNSAllow {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("sns-allow-endpoints %q must be a network, such as 127.0.0.0/8", text)
		}
		networks = append(networks, network)
	}
	return networks, nil
}
