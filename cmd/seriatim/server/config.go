package server

import (
	"time"

	"github.com/knadh/koanf/v2"
)

// Config is the configuration of one node. Some settings must be equal on all nodes, as their
// descriptions say. For replicated settings the leader's values apply. Hidden settings exist for
// tests: help, documents and --print-config leave them out.
type Config struct {
	Node    NodeConfig    `name:",squash"`
	Listen  ListenConfig  `name:",squash"`
	API     APIConfig     `name:",squash"`
	Logging LoggingConfig `name:",squash"`
	Tracing TracingConfig `name:",squash"`
	Storage StorageConfig `name:",squash"`
	Timing  TimingConfig  `name:",squash"`
	Limits  LimitsConfig  `name:",squash"`
}

// NodeConfig holds the identity of the node and the way to its cluster.
type NodeConfig struct {
	Name              string        `name:"node-name" env:"SERIATIM_NODE_NAME" default:"" since:"0.1.0" help:"name of this node, part of its node id; empty: the host's name"`
	DataDir           string        `name:"data-dir" env:"SERIATIM_DATA_DIR" default:"/var/lib/seriatim" since:"0.1.0" help:"directory for all data of this node"`
	BootstrapExpect   int           `name:"bootstrap-expect" env:"SERIATIM_BOOTSTRAP_EXPECT" default:"1" since:"0.1.0" help:"number of empty nodes that form a new cluster together; the same on all of them; 0: never form one"`
	Join              []string      `name:"join" env:"SERIATIM_JOIN" default:"" since:"0.1.0" help:"gossip addresses of the nodes, host:port, separated by commas; may include this node"`
	AutoJoin          bool          `name:"auto-join" env:"SERIATIM_AUTO_JOIN" default:"true" since:"0.1.0" help:"an empty node that finds a cluster joins it as a learner; false: add nodes with seriatim cluster add"`
	Voters            int           `name:"voters" env:"SERIATIM_VOTERS" default:"0" since:"0.1.0" help:"number of voters up to which the leader promotes learners by itself; 0: the number of initial members"`
	PromoteAfter      time.Duration `name:"promote-after" env:"SERIATIM_PROMOTE_AFTER" default:"10s" since:"0.1.0" help:"how long a learner must keep up before the leader promotes it"`
	GossipKeyFile     string        `name:"gossip-key-file" env:"SERIATIM_GOSSIP_KEY_FILE" default:"" since:"0.1.0" help:"file with 16, 24 or 32 bytes in base64 that encrypt gossip; the same on all nodes; empty: as for peer-cert"`
	EncryptionKeyFile string        `name:"encryption-key-file" env:"SERIATIM_ENCRYPTION_KEY_FILE" default:"" since:"0.1.0" help:"file with the keys that encrypt log, bodies, snapshots and backups, from seriatim encryption-key create; the same on all nodes; empty: clear text"`
}

// ListenConfig holds the addresses of the four ports, and of two more for clients of AMQP.
type ListenConfig struct {
	Client          string   `name:"client-addr" env:"SERIATIM_CLIENT_ADDR" default:"127.0.0.1:9324" since:"0.1.0" help:"address for clients: SQS and SNS over HTTP/1.1 and HTTP/2, gRPC, AMQP"`
	AMQP            string   `name:"amqp-addr" env:"SERIATIM_AMQP_ADDR" default:"" since:"0.1.0" help:"second address for Azure Service Bus clients: AMQP 1.0 without TLS, usually port 5672; empty: only client-addr"`
	AMQPS           string   `name:"amqps-addr" env:"SERIATIM_AMQPS_ADDR" default:"" since:"0.1.0" help:"as amqp-addr, with the certificate of tls-cert, usually port 5671"`
	Admin           string   `name:"admin-addr" env:"SERIATIM_ADMIN_ADDR" default:"127.0.0.1:9325" since:"0.1.0" help:"address for health, status, metrics and administration"`
	Peer            string   `name:"peer-addr" env:"SERIATIM_PEER_ADDR" default:"127.0.0.1:9326" since:"0.1.0" help:"address for the other nodes"`
	Gossip          string   `name:"gossip-addr" env:"SERIATIM_GOSSIP_ADDR" default:"127.0.0.1:9327" since:"0.1.0" help:"address for gossip, TCP and UDP"`
	AdvertisePeer   string   `name:"advertise-peer" env:"SERIATIM_ADVERTISE_PEER" default:"" since:"0.1.0" help:"peer address as other nodes reach it; empty: the bound one"`
	AdvertiseGossip string   `name:"advertise-gossip" env:"SERIATIM_ADVERTISE_GOSSIP" default:"" since:"0.1.0" help:"gossip address as other nodes reach it; empty: the bound one"`
	AllowOrigin     []string `name:"allow-origin" env:"SERIATIM_ALLOW_ORIGIN" default:"" since:"0.1.0" help:"origins whose web pages may use the client and admin ports, such as https://app.example.org, separated by commas. Their hosts are also accepted in the Host header of a loopback port; *: all"`
	TLSCert         string   `name:"tls-cert" env:"SERIATIM_TLS_CERT" default:"" since:"0.1.0" help:"PEM certificate chain of the client port; empty: no TLS"`
	TLSKey          string   `name:"tls-key" env:"SERIATIM_TLS_KEY" default:"" since:"0.1.0" help:"PEM private key of tls-cert"`
	AdminCert       string   `name:"admin-cert" env:"SERIATIM_ADMIN_CERT" default:"" since:"0.1.0" help:"PEM certificate chain of the admin port; empty: no TLS"`
	AdminKey        string   `name:"admin-key" env:"SERIATIM_ADMIN_KEY" default:"" since:"0.1.0" help:"PEM private key of admin-cert"`
	AdminTokens     string   `name:"admin-tokens-file" env:"SERIATIM_ADMIN_TOKENS_FILE" default:"" since:"0.1.0" help:"file with the tokens of the admin port, from seriatim cert token. A line has role (viewer, operator or admin), SHA-256 of the token in hex, and name. Empty: the node makes an administrator's token in the file admin.token of its data directory"`
	InsecureAdmin   bool     `name:"insecure-admin" env:"SERIATIM_INSECURE_ADMIN" default:"false" since:"0.1.0" help:"without admin-tokens-file, require no token on the admin port; every program that reaches it can then read messages and change the cluster"`
	PeerCert        string   `name:"peer-cert" env:"SERIATIM_PEER_CERT" default:"" since:"0.1.0" help:"PEM certificate chain of this node for the peer port, with the name NODE.node.seriatim, from seriatim cert issue NODE. Empty: a node that forms a cluster alone accepts no other node, all others need insecure-peers"`
	PeerKey         string   `name:"peer-key" env:"SERIATIM_PEER_KEY" default:"" since:"0.1.0" help:"PEM private key of peer-cert"`
	PeerCA          string   `name:"peer-ca" env:"SERIATIM_PEER_CA" default:"" since:"0.1.0" help:"PEM certificates of the authorities whose certificates belong to nodes of this cluster; use these authorities for nothing else"`
	InsecurePeers   bool     `name:"insecure-peers" env:"SERIATIM_INSECURE_PEERS" default:"false" since:"0.1.0" help:"start without certificates or without a gossip key; every program that reaches the peer or the gossip port can then take over the cluster"`
	Profiles        bool     `name:"profiles" env:"SERIATIM_PROFILES" default:"false" since:"0.1.0" help:"serve Go's profiles on the admin port below /debug/pprof/"`
}

// APIConfig holds the settings whose effect clients see.
type APIConfig struct {
	Account        string   `name:"account" env:"SERIATIM_ACCOUNT" default:"000000000000" since:"0.1.0" help:"account id in queue URLs and ARNs, 12 digits; the same on all nodes"`
	Region         string   `name:"region" env:"SERIATIM_REGION" default:"us-east-1" since:"0.1.0" help:"region in ARNs; the same on all nodes"`
	CheckARNRegion bool     `name:"check-arn-region" env:"SERIATIM_CHECK_ARN_REGION" default:"true" since:"0.1.0" help:"refuse ARNs with another region, as AWS does; the same on all nodes. The region in signatures is never compared"`
	Auth           bool     `name:"auth" env:"SERIATIM_AUTH" default:"true" since:"0.1.0" help:"accept only signed requests that policies permit on the client port; the same on all nodes. false: accept every request"`
	FirstKeyFile   string   `name:"first-key-file" env:"SERIATIM_FIRST_KEY_FILE" default:"" since:"0.1.0" help:"file with the first access key of a new cluster: lines AWS_ACCESS_KEY_ID=... and AWS_SECRET_ACCESS_KEY=..., or a folder with a file for each. The node writes a new key there if the file is missing. Empty: it prints a new key on the terminal, or without a terminal writes it to first-key in the data directory. The same on all nodes"`
	MinimumWindow  int      `name:"minimum-window" env:"SERIATIM_MINIMUM_WINDOW" default:"20" since:"0.1.0" help:"lower bound in seconds, 1 to 20, of DeduplicationWindowSeconds and ReceiveAttemptWindowSeconds; below 20 for tests; replicated"`
	AcceptKMSKeys  bool     `name:"accept-kms-keys" env:"SERIATIM_ACCEPT_KMS_KEYS" default:"false" since:"0.1.0" help:"accept and ignore KmsMasterKeyId of queues and topics, and SqsManagedSseEnabled without encryption-key-file; the same on all nodes. false: refuse them"`
	SNSAllow       []string `name:"sns-allow-endpoints" env:"SERIATIM_SNS_ALLOW_ENDPOINTS" default:"" since:"0.1.0" help:"networks, such as 127.0.0.0/8, that topics may post to although they are loopback, link-local, unique local, multicast or reserved, separated by commas. Other addresses of these kinds are refused"`
	AWSCooldowns   bool     `name:"aws-cooldowns" env:"SERIATIM_AWS_COOLDOWNS" default:"false" since:"0.1.0" help:"enforce the 60 seconds of AWS after DeleteQueue and between PurgeQueue calls; replicated"`
}

// LoggingConfig holds the settings of the log.
type LoggingConfig struct {
	Level     string `name:"log-level" env:"SERIATIM_LOG_LEVEL" default:"info" since:"0.1.0" help:"debug, info, warn or error"`
	AuditFile string `name:"audit-log-file" env:"SERIATIM_AUDIT_LOG_FILE" default:"" since:"0.1.0" help:"file for the audit log, as lines of JSON; empty: the lines go to the log, with the field stream=audit"`
	Format    string `name:"log-format" env:"SERIATIM_LOG_FORMAT" default:"auto" since:"0.1.0" help:"json, text, or auto: text on a terminal, else json"`
}

// TracingConfig holds the settings of traces.
type TracingConfig struct {
	Endpoint string  `name:"otlp-endpoint" env:"SERIATIM_OTLP_ENDPOINT" default:"" since:"0.1.0" help:"URL of an OpenTelemetry collector, such as http://127.0.0.1:4318. Traces go to /v1/traces below it, over OTLP/HTTP. Empty: the value of OTEL_EXPORTER_OTLP_ENDPOINT; without one, no traces"`
	Ratio    float64 `name:"trace-ratio" env:"SERIATIM_TRACE_RATIO" default:"1" since:"0.1.0" help:"share of requests to trace, 0 to 1; a header traceparent of the client decides for its request"`
}

// StorageConfig holds the settings of log, bodies and snapshots on disk.
type StorageConfig struct {
	LogStore         string        `name:"log-store" env:"SERIATIM_LOG_STORE" default:"wal" since:"0.1.0" help:"wal (segmented, faster) or boltdb (one file)"`
	SegmentBytes     Size          `name:"log-segment-size" hidden:"true" env:"SERIATIM_LOG_SEGMENT_SIZE" default:"64MiB" since:"0.1.0" help:"size of one preallocated file of the wal, at most 1GiB"`
	CacheBytes       Size          `name:"log-cache-size" hidden:"true" env:"SERIATIM_LOG_CACHE_SIZE" default:"32MiB" since:"0.1.0" help:"newest log entries kept in memory for followers"`
	BodyStore        string        `name:"body-store" env:"SERIATIM_BODY_STORE" default:"segments" since:"0.1.0" help:"where this node keeps the bodies of messages: segments (files, to which snapshots refer), or memory"`
	BodyCacheBytes   Size          `name:"body-cache-size" hidden:"true" env:"SERIATIM_BODY_CACHE_SIZE" default:"16MiB" since:"0.1.0" help:"size of the newest bodies that segments also keep in memory"`
	BodySegmentBytes Size          `name:"body-segment-size" hidden:"true" env:"SERIATIM_BODY_SEGMENT_SIZE" default:"64MiB" since:"0.1.0" help:"size of one file of body-store=segments, at most 1GiB"`
	BodyScrubRate    Size          `name:"body-scrub-rate" env:"SERIATIM_BODY_SCRUB_RATE" default:"1MiB" since:"0.1.0" help:"bytes per second for reading bodies in segments to find damaged ones. The node fetches these from another node. 0: check bodies only when they are received"`
	BodyScrubPause   time.Duration `name:"body-scrub-interval" hidden:"true" env:"SERIATIM_BODY_SCRUB_INTERVAL" default:"24h" since:"0.1.0" help:"pause between two checks of all bodies in segments"`
	SnapshotLogBytes Size          `name:"snapshot-log-size" env:"SERIATIM_SNAPSHOT_LOG_SIZE" default:"256MiB" since:"0.1.0" help:"growth of the log after which the node takes the next snapshot"`
	TrailingBytes    Size          `name:"trailing-log-size" env:"SERIATIM_TRAILING_LOG_SIZE" default:"256MiB" since:"0.1.0" help:"size of the log that is kept before a snapshot for followers that lag"`
	SnapshotRate     Size          `name:"snapshot-rate" env:"SERIATIM_SNAPSHOT_RATE" default:"64MiB" since:"0.1.0" help:"most bytes per second for writing a snapshot; a quarter of that while the log grows slowly"`
	DiskDeadline     time.Duration `name:"disk-deadline" env:"SERIATIM_DISK_DEADLINE" default:"10s" since:"0.1.0" help:"longest time for a write or sync; after it the process ends, so that another node can lead"`
	DiskRefuse       FreeSpace     `name:"disk-free-refuse" env:"SERIATIM_DISK_FREE_REFUSE" default:"15%,1GiB" since:"0.1.0" help:"free space for the data directory below which a leader answers sends with 503: a percentage, a size, or the smaller of both; off: never"`
	DiskResign       FreeSpace     `name:"disk-free-resign" env:"SERIATIM_DISK_FREE_RESIGN" default:"5%,350MiB" since:"0.1.0" help:"free space below which a node gives up leadership; off: never"`
	AuditInterval    time.Duration `name:"audit-interval" hidden:"true" env:"SERIATIM_AUDIT_INTERVAL" default:"30s" since:"0.1.0" help:"time between two comparisons of the replicas, which also need audit-entries"`
	AuditEntries     int           `name:"audit-entries" hidden:"true" env:"SERIATIM_AUDIT_ENTRIES" default:"10000" since:"0.1.0" help:"log entries between two comparisons of the replicas; after 60 intervals fewer suffice"`
	ServeDiverged    bool          `name:"serve-diverged" env:"SERIATIM_SERVE_DIVERGED" default:"false" since:"0.1.0" help:"accept sends although two replicas differ and the right one is unknown"`
}

// TimingConfig holds the timeouts of consensus and of stopping.
type TimingConfig struct {
	Heartbeat time.Duration `name:"heartbeat-timeout" env:"SERIATIM_HEARTBEAT_TIMEOUT" default:"1500ms" since:"0.1.0" help:"time without a message from the leader after which a follower starts an election. A candidate starts another one after the same time. A leader without a majority steps down after half of it"`
	ClockSkew time.Duration `name:"clock-skew-max" env:"SERIATIM_CLOCK_SKEW_MAX" default:"30s" since:"0.1.0" help:"difference between the clock of a node and the median of a majority above which the node gives up leadership"`
	Shutdown  time.Duration `name:"shutdown-timeout" env:"SERIATIM_SHUTDOWN_TIMEOUT" default:"10s" since:"0.1.0" help:"longest time for a clean stop; after it the process ends, which loses nothing"`
}

// LimitsConfig bounds the resources that clients can use.
type LimitsConfig struct {
	Connections    int           `name:"max-connections" env:"SERIATIM_MAX_CONNECTIONS" default:"20000" since:"0.1.0" help:"client connections at once; more wait for acceptance. The node lowers the limit if it may open too few files"`
	PerAddress     int           `name:"max-connections-per-address" env:"SERIATIM_MAX_CONNECTIONS_PER_ADDRESS" default:"0" since:"0.1.0" help:"client connections from one address at once; more are closed; 0: nine tenths of max-connections. Raise it to max-connections behind a proxy that has one address for all clients"`
	Streams        int           `name:"max-streams" env:"SERIATIM_MAX_STREAMS" default:"65536" since:"0.1.0" help:"requests over HTTP/2 and gRPC at once, including long polls and streams; nine tenths of them for one address. Clients repeat refused requests"`
	RequestBytes   Size          `name:"request-memory-max" env:"SERIATIM_REQUEST_MEMORY_MAX" default:"256MiB" since:"0.1.0" help:"bytes of requests and answers in transfer, over all client connections; at least 128MiB. Above it large requests wait up to 5 s and then get 503"`
	RequestTimeout time.Duration `name:"request-timeout" env:"SERIATIM_REQUEST_TIMEOUT" default:"10s" since:"0.1.0" help:"how long a request waits for a leader before it gets 503"`
	QueueBytes     Size          `name:"proposal-queue-size" env:"SERIATIM_PROPOSAL_QUEUE_SIZE" default:"64MiB" since:"0.1.0" help:"bytes of requests that wait for the log; above it requests get 503"`
	StateBytes     Size          `name:"state-bytes-max" env:"SERIATIM_STATE_BYTES_MAX" default:"0B" since:"0.1.0" help:"estimated size of the state in memory above which sends get 503; 0B: no limit"`
	MetricQueues   int           `name:"metrics-queues" env:"SERIATIM_METRICS_QUEUES" default:"1000" since:"0.1.0" help:"queues with their own series in /metrics; the others share one with an empty name; 0: none has its own"`
}

// load merges the configuration. Precedence: flags, environment, file, defaults.
func load(file layer, environ []string, flags layer) (Config, error) {
	env, err := environmentLayer(environ)
	if err != nil {
		return Config{}, err
	}
	merged := koanf.New(".")
	for _, l := range []layer{defaultsLayer(), file, env, flags} {
		if err := l.check(); err != nil {
			return Config{}, err
		}
		if err := merged.Load(l, nil); err != nil {
			return Config{}, err
		}
	}
	var cfg Config
	if err := merged.UnmarshalWithConf("", &cfg, decoding(&cfg)); err != nil {
		return Config{}, err
	}
	if cfg.Tracing.Endpoint == "" {
		cfg.Tracing.Endpoint = standardEndpoint(environ)
	}
	return cfg, nil
}
