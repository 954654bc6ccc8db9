package recovery

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/storage/encryption"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/queue"
)

// Options configure a Service with the parts and functions of its node.
type Options struct {
	NodeID, NodeName string
	ClusterID        func() string
	DataDir          string
	Keys             *encryption.Keyring // nil: files are in clear text
	Pace             consensus.SnapshotPolicy
	Segments         Segments
	Disk             func(what string, write func() error) error // see environment.Environment
	Timeout          time.Duration                               // for a read barrier, and for each step of a restore
	Monotonic        func() time.Duration
	Log              *slog.Logger

	Group   *consensus.Group
	Replica *fsm.FSM
	Network *peernet.Network
	// Closing ends when the node accepts nothing new, Life when it is closed.
	Closing, Life context.Context

	Term        func() *leader.Term // nil unless this node leads
	ReadBarrier func(context.Context) (index uint64, err error)
	LockMembers func(context.Context) (unlock func(), err error) // no member changes until unlock
	Room        func() int64                                     // bytes that the disk has room for
	// AdoptAccessKeys makes the access keys of a backup those of this cluster. Its error is
	// ErrSealed if they are sealed for other nodes.
	AdoptAccessKeys func(context.Context, *queue.Broker, RestoreOptions) error
}

// Segments are the sizes of the segments with the bodies of a backup. See bodies.Options.
type Segments struct {
	CacheBytes, SegmentBytes int64
	KeepMin                  int
}

// Service backs up the state and restores backups. Safe for concurrent use.
type Service struct{ Options }

// New returns a Service.
func New(o Options) *Service { return &Service{o} }

// Errors of Restore, compared with errors.Is. After another error but fault.ErrUnavailable
// and fault.ErrNotLeader the outcome of the restore is unknown.
var (
	// ErrNotFresh: a restore would destroy queues or topics of the cluster.
	ErrNotFresh = errors.New("a backup is restored into a fresh cluster only")
	// ErrBadBackup: the backup is damaged, truncated, or of a newer format.
	ErrBadBackup = fault.ErrBadBackup
	// ErrSealed: the access keys of the backup are sealed for other nodes.
	ErrSealed = errors.New("the backup holds access keys whose secrets are sealed. " +
		"Restore it with --secrets-key and the file secrets.key of any node that was a member when it was made, " +
		"or with --without-access-keys")
	// ErrMembersAway: the cluster is not complete.
	ErrMembersAway = errors.New("a restore needs all members")
)

// Restored describes a finished restore. Its JSON form is a contract with other programs.
type Restored struct {
	Index       uint64 `json:"index"` // of the log, at which the cluster continues
	LogTimeMs   int64  `json:"logTimeMs"`
	StateHash   string `json:"stateHash"` // hex, of the restored state
	BackupIndex uint64 `json:"backupIndex"`
	BackupHash  string `json:"backupHash"`
	Queues      uint64 `json:"queues"`
	Messages    uint64 `json:"messages"`
	IDs         uint64 `json:"deduplicationIds"`
	Epoch       uint32 `json:"epoch"`
	NodeName    string `json:"nodeName"` // of the node that led the restore
}

// RestoreOptions say how to handle the access keys of a backup. Set one of them if the keys
// are sealed for other nodes.
type RestoreOptions struct {
	// SecretsKey is the content of the file secrets.key of a node that was a member when the
	// backup was made, or empty.
	SecretsKey string `json:"secretsKey,omitempty"`
	// WithoutAccessKeys drops the access keys of the backup and keeps those of this cluster.
	WithoutAccessKeys bool `json:"withoutAccessKeys,omitempty"`
}
