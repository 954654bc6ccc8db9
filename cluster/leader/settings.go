package leader

// Settings are what all nodes must agree on. The leader writes its own into the
// log when they differ from those of the replicated state.
type Settings struct {
	// MinimumWindowSeconds is the lower bound of DeduplicationWindowSeconds
	// and ReceiveAttemptWindowSeconds, 1..20; 0 means 20.
	MinimumWindowSeconds int
	// AWSCooldowns turns on the 60 seconds after DeleteQueue and between two
	// PurgeQueue calls.
	AWSCooldowns bool
}

const minimumWindowSecondsMax = 20

// WithDefaults returns the settings with every unset field filled in.
func (s Settings) WithDefaults() Settings {
	if s.MinimumWindowSeconds <= 0 || s.MinimumWindowSeconds > minimumWindowSecondsMax {
		s.MinimumWindowSeconds = minimumWindowSecondsMax
	}
	return s
}

// Limits bound what clients can make a node hold. The zero value of a field means
// its default.
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

// WithDefaults returns the limits with every unset field filled in.
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

// Room is what may wait to be proposed, in bytes and commands. Essential commands
// have a quarter more, so that a flood of sends cannot keep them out.
func (l Limits) Room(essential bool) (bytes, commands int) {
	if !essential {
		return l.QueueBytes, l.QueueCommands
	}
	return l.QueueBytes + l.QueueBytes/4, l.QueueCommands + l.QueueCommands/4
}
