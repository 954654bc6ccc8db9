package cluster

import (
	"github.com/seriatimq/seriatim/cluster/audit"
	"github.com/seriatimq/seriatim/cluster/consensus"
	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/membership"
	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/cluster/recovery"
	"github.com/seriatimq/seriatim/cluster/route"
	"github.com/seriatimq/seriatim/cluster/storage"
)

// Callers of this package need these names of the packages below. They are repeated here, so that
// callers import a single package.

// Clock is the source of time for a node.
type Clock = environment.Clock

// Network listens for a node and connects it to the others.
type Network = environment.Network

// FirstKey supplies the first access key of a new cluster.
type FirstKey = leader.FirstKey

// AccessKey is an access key of the account itself.
type AccessKey = leader.AccessKey

// PeerTLS authenticates nodes on the peer port.
type PeerTLS = peernet.TLS

// DiskSpace is the space of a file system, in bytes.
type DiskSpace = environment.DiskSpace

// AuditPolicy says how often the replicas are compared.
type AuditPolicy = audit.Policy

// SystemClock returns the clock of the machine.
func SystemClock() Clock { return environment.SystemClock() }

// Names of the log stores a node can be started with.
const (
	LogStoreWAL    = storage.LogStoreWAL    // hashicorp/raft-wal: segmented, preallocated
	LogStoreBoltDB = storage.LogStoreBoltDB // hashicorp/raft-boltdb/v2: one B+tree file
)

// Types of package route.
type (
	// Reply is the answer to a command.
	Reply              = route.Reply
	PressureError      = route.PressureError
	UpgradeNeededError = route.UpgradeNeededError
)

// Errors that Submit, Receive and Read may return beside *queue.Error. They
// are compared with errors.Is.
var (
	// ErrUnavailable: nothing was proposed and nothing will be; retry later or on another node.
	ErrUnavailable = fault.ErrUnavailable
	// ErrOutcomeUnknown: the command may or may not take effect.
	ErrOutcomeUnknown = fault.ErrOutcomeUnknown
	// ErrOverloaded: the proposal queue is full; nothing was proposed.
	ErrOverloaded = fault.ErrOverloaded
	// ErrNotLeader: nothing was proposed because this node does not lead.
	ErrNotLeader = fault.ErrNotLeader
)

// Member is one node of the replicated configuration.
type Member = consensus.Member

// Types and constants of package membership.
type (
	MembershipPolicy  = membership.Policy
	MemberList        = membership.MemberList
	MemberStatus      = membership.MemberStatus
	WaitingNode       = membership.WaitingNode
	EncryptionStatus  = membership.EncryptionStatus
	KeyStatus         = membership.KeyStatus
	Change            = membership.Change
	RefusalKind       = membership.RefusalKind
	MembershipRefusal = membership.MembershipRefusal
	Upgrade           = membership.Upgrade
	UpgradeMember     = membership.UpgradeMember
	Holder            = membership.Holder
	Provider          = membership.Provider
	NodeAnswer        = membership.NodeAnswer
)

// Kinds of refusals.
const (
	RefusedUnknownNode = membership.RefusedUnknownNode
	RefusedUnsafe      = membership.RefusedUnsafe
	RefusedBusy        = membership.RefusedBusy
	RefusedPolicy      = membership.RefusedPolicy
)

// SnapshotPolicy configures the snapshots: their frequency and the speed of writing.
type SnapshotPolicy = consensus.SnapshotPolicy

// Backup is the state of the cluster at one entry of the log, Restored a finished restore.
type (
	Backup         = recovery.Backup
	Restored       = recovery.Restored
	RestoreOptions = recovery.RestoreOptions
)

// Errors of Restore, see package recovery.
var (
	ErrNotFresh    = recovery.ErrNotFresh
	ErrBadBackup   = recovery.ErrBadBackup
	ErrSealed      = recovery.ErrSealed
	ErrMembersAway = recovery.ErrMembersAway
)

// ErrVotesMissing is the error of a restore after which a member lacks its vote. The
// restore itself may have succeeded; seriatim cluster promote gives the vote back.
var ErrVotesMissing = consensus.ErrVotesMissing

// ExitCode is the process exit code of a fatal condition.
type ExitCode = fault.ExitCode

// Exit codes, see package fault.
const (
	ExitDiskError     = fault.ExitDiskError
	ExitDiskHang      = fault.ExitDiskHang
	ExitChecksum      = fault.ExitChecksum
	ExitStateMismatch = fault.ExitStateMismatch
	ExitLostData      = fault.ExitLostData
	ExitUnknownFormat = fault.ExitUnknownFormat
	ExitStuckTransfer = fault.ExitStuckTransfer
	ExitOtherHistory  = fault.ExitOtherHistory
	ExitRemoved       = fault.ExitRemoved
	ExitKeyMissing    = fault.ExitKeyMissing
)
