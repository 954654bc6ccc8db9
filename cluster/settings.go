package cluster

import (
	"time"

	"github.com/seriatimq/seriatim/cluster/leader"
	"github.com/seriatimq/seriatim/cluster/storage/encryption"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/refusal"
)

// ClusterSettings are replicated: all nodes use the same.
type ClusterSettings = leader.Settings

// RequestLimits bound the memory of a node for requests of clients. The zero value of a field
// means its default.
type RequestLimits struct {
	// Timeout bounds the attempts of a call, which then ends with ErrUnavailable or
	// ErrOutcomeUnknown. The time that a receive waits for messages is not included.
	Timeout time.Duration
	// QueueBytes and QueueCommands bound the commands that wait to be proposed, on the leader
	// and on the way to it. Above them callers get ErrOverloaded.
	QueueBytes    int
	QueueCommands int
	// WaitingReceives bounds the long polls held by the leader.
	WaitingReceives int
	Pressure        PressureLimits
	// QueueTotals is the number of queues with counts of their own, see Node.QueueTotals.
	QueueTotals int
	// Check refuses commands before they go into the log, by rules that need no state and do
	// not belong to package queue; nil refuses none.
	Check func(queue.Command) *queue.Error
}

const requestTimeoutDefault = 10 * time.Second

// leader returns the limits for commands that wait at the leader and on the way to it.
func (l RequestLimits) leader() leader.Limits {
	return leader.Limits{QueueBytes: l.QueueBytes, QueueCommands: l.QueueCommands, WaitingReceives: l.WaitingReceives}
}

func (l RequestLimits) withDefaults() RequestLimits {
	if l.Timeout <= 0 {
		l.Timeout = requestTimeoutDefault
	}
	limits := l.leader().WithDefaults()
	l.QueueBytes, l.QueueCommands, l.WaitingReceives = limits.QueueBytes, limits.QueueCommands, limits.WaitingReceives
	l.Pressure = l.Pressure.withDefaults()
	return l
}

// EncryptionPolicy configures the encryption of the files of a node.
type EncryptionPolicy struct {
	Keys *encryption.Keyring // nil: files are in clear text
	// AcceptKMSKeys accepts and ignores attributes that ask for unavailable encryption.
	AcceptKMSKeys bool
}

// EncryptsAtRest reports whether this node encrypts its files, and all other members report the
// same.
func (n *Node) EncryptsAtRest() bool {
	if n.cfg.Log.Encryption.Keys == nil {
		return false
	}
	encrypts := map[string]bool{}
	for _, member := range n.process.gossip.View() {
		encrypts[member.NodeID] = member.Encrypts
	}
	for _, id := range n.members.OtherMembers() {
		if !encrypts[id] {
			return false
		}
	}
	return true
}

// Attributes with which users ask for encryption.
const (
	kmsKeyAttribute     = "KmsMasterKeyId"
	sqsManagedAttribute = "SqsManagedSseEnabled"
)

// check refuses a command by the settings of this node.
func (n *Node) check(cmd queue.Command) *queue.Error {
	if n.cfg.Limits.Check != nil {
		if refused := n.cfg.Limits.Check(cmd); refused != nil {
			return refused
		}
	}
	return n.refuseEncryption(cmd)
}

// refuseEncryption refuses a command that asks for unavailable encryption: a KMS key, or
// encryption at rest while a node has none.
func (n *Node) refuseEncryption(cmd queue.Command) *queue.Error {
	if n.cfg.Log.Encryption.AcceptKMSKeys {
		return nil
	}
	var given []queue.Attribute
	topic := false
	switch cmd := cmd.(type) {
	case *queue.CreateQueue:
		given = cmd.Attributes
	case *queue.SetQueueAttributes:
		given = cmd.Attributes
	case *queue.CreateTopic:
		given, topic = cmd.Attributes, true
	case *queue.SetTopicAttributes:
		given, topic = cmd.Attributes, true
	}
	for _, a := range given {
		switch {
		case a.Name == kmsKeyAttribute && a.Value != "" && topic:
			return refusal.New(refusal.SNSInvalidParameter, "Invalid parameter: KmsMasterKeyId Reason: ", noKMS)
		case a.Name == kmsKeyAttribute && a.Value != "":
			return refusal.New(refusal.InvalidAttributeValue, "Invalid value for the parameter KmsMasterKeyId. Reason: ", noKMS)
		case a.Name == sqsManagedAttribute && a.Value == "true" && !n.EncryptsAtRest():
			return refusal.New(refusal.InvalidAttributeValue, "Invalid value for the parameter SqsManagedSseEnabled. Reason: ",
				"not all nodes of this cluster encrypt data at rest: set encryption-key-file on each, "+
					"or accept-kms-keys to have the attribute accepted and ignored.")
		}
	}
	return nil
}

const noKMS = "this server has no keys of KMS. Leave it out and set encryption-key-file on all nodes, " +
	"or accept-kms-keys to have it accepted and ignored."
