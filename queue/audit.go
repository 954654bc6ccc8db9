package queue

// Audit lets the replicas compare themselves. It changes nothing but the
// clock: what matters is its place in the log, where every replica notes the
// hash of its state, and the hashes it carries, which the replicas noted at an
// earlier Audit (faults.md 9).
type Audit struct {
	// HashVersion is the definition of the hashes in Reports; a replica
	// that computes another one has nothing to compare.
	HashVersion uint32
	Index       uint64        // of the Audit the reports are about; 0 if there are none
	Reports     []AuditReport // sorted by node id
}

// AuditReport is what one replica noted at an Audit.
type AuditReport struct {
	NodeID string
	State  [16]byte
	Chain  [16]byte // over the log up to there
}

// QueueName implements Command.
func (*Audit) QueueName() string { return "" }

// Validate has nothing to check: only a leader makes this command.
func (*Audit) Validate() *Error { return nil }
