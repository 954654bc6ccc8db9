package leader

// Settings apply to the whole cluster. The leader writes its own into the log if they differ from
// the replicated ones.
type Settings struct {
	// MinimumWindowSeconds is the lower bound of DeduplicationWindowSeconds
	// and ReceiveAttemptWindowSeconds, 1..20; 0 means 20.
	MinimumWindowSeconds int
	// AWSCooldowns enforces 60 seconds after DeleteQueue and between two PurgeQueue calls.
	AWSCooldowns bool
}

const minimumWindowSecondsMax = 20

// WithDefaults returns s with unset fields filled in.
func (s Settings) WithDefaults() Settings {
	if s.MinimumWindowSeconds <= 0 || s.MinimumWindowSeconds > minimumWindowSecondsMax {
		s.MinimumWindowSeconds = minimumWindowSecondsMax
	}
	return s
}

// Limits bound the memory that clients can make a node use. A zero field means its default.
type Limits struct {
	QueueBytes      int // of commands that wait to be proposed
	QueueCommands   int // that wait to be proposed
	WaitingReceives int // long polls
}

const (
	queueBytesDefault      = 64 << 20
	queueCommandsDefault   = 1 << 16
	waitingReceivesDefault = 1 << 16
)

// WithDefaults returns l with unset fields filled in.
func (l Limits) WithDefaults() Limits {
	if l.QueueBytes <= 0 {
		l.QueueBytes = queueBytesDefault
	}
	if l.QueueCommands <= 0 {
		l.QueueCommands = queueCommandsDefault
	}
	if l.WaitingReceives <= 0 {
		l.WaitingReceives = waitingReceivesDefault
	}
	return l
}

// Room returns the bytes and commands that may wait to be proposed. Essential commands have a
// quarter more, so that a flood of sends cannot keep them out.
func (l Limits) Room(essential bool) (bytes, commands int) {
	if !essential {
		return l.QueueBytes, l.QueueCommands
	}
	return l.QueueBytes + l.QueueBytes/4, l.QueueCommands + l.QueueCommands/4
}
