package queue

// Command is one change of the replicated state. The set is closed: package
// fsm holds the number and the encoding of each. Commands are plain data;
// they are not changed after they were handed to Apply.
type Command interface {
	// Validate checks everything that needs no state: required members,
	// ranges and lengths. Apply calls it, too; a node calls it before
	// proposing so that plainly bad input costs no log entry.
	Validate() *Error
	// Queue is the name of the queue the command is about, empty for
	// commands about the whole cluster or about a move task.
	QueueName() string
}

// Int is an integer of a request that may be absent, which differs from zero
// in many SQS members.
type Int struct {
	Value int64
	Given bool
}

// Some is a given Int.
func Some(v int64) Int { return Int{Value: v, Given: true} }

// Or is the value, or other if absent.
func (i Int) Or(other int64) int64 {
	if i.Given {
		return i.Value
	}
	return other
}

// Attribute is one queue attribute as text, by its SQS name.
type Attribute struct{ Name, Value string }

// Tag is one queue tag.
type Tag struct{ Key, Value string }

// AdvanceClock lets log time pass without any other change: timers that are
// due fire, at most a bounded number per command.
type AdvanceClock struct{}

// SetFormatVersion raises the version of commands and snapshots that the
// cluster may write. It never goes down.
type SetFormatVersion struct{ Version uint32 }

// SetClusterSetting sets one setting that all nodes must agree on.
type SetClusterSetting struct{ Name, Value string }

// CreateQueue creates a queue, or confirms that an equal one exists.
type CreateQueue struct {
	Queue      string
	Attributes []Attribute // sorted by name, names distinct
	Tags       []Tag       // sorted by key, keys distinct
	Policies   Policies    // filled by Prepare
}

// DeleteQueue removes a queue with all it holds.
type DeleteQueue struct{ Queue string }

// SetQueueAttributes merges attributes into a queue's, all or none.
type SetQueueAttributes struct {
	Queue      string
	Attributes []Attribute // sorted by name, names distinct
	Policies   Policies    // filled by Prepare
}

// SetQueueTags adds or overwrites tags and removes keys.
type SetQueueTags struct {
	Queue  string
	Set    []Tag    // sorted by key
	Remove []string // sorted
}

// SetQueuePolicy is AddPermission or RemovePermission: it adds one statement
// to the queue's access policy, or removes one.
type SetQueuePolicy struct {
	Queue      string
	QueueARN   string // full ARN, used in the policy text
	Label      string // Sid of the statement
	Remove     bool
	AccountIDs []string // principals, for adding
	Actions    []string // without the SQS: prefix, for adding
}

// PurgeQueue deletes all messages of a queue.
type PurgeQueue struct{ Queue string }

// SendMessages is SendMessage and SendMessageBatch.
type SendMessages struct {
	Queue    string
	SenderID string
	Batch    bool // selects the error texts of the batch action
	Entries  []SendEntry
	// RepeatedSince is set on a send that may be in the log already, at this log
	// time or later: it is refused, whole, unless the queue still knows every id
	// accepted since then. Zero: it was not proposed before.
	RepeatedSince Timestamp
}

// SendEntry is one message to send.
type SendEntry struct {
	Body                 string
	Attributes           []MessageAttribute // in request order, sorted by the accepting node
	TraceHeader          string             // AWSTraceHeader, empty if absent
	GroupID              string
	GroupIDGiven         bool // an empty id that was given is an error, an absent one may not be
	DeduplicationID      string
	DeduplicationIDGiven bool
	DelaySeconds         Int
	// ContentHash is the SHA-256 of Body if the accepting node computed it
	// already, else nil and the broker computes it when a rule needs it.
	ContentHash []byte
}

// MessageAttribute is a typed user attribute of a message. DataType begins
// with String, Number or Binary; Value holds the text or the raw bytes.
type MessageAttribute struct {
	Name     string
	DataType string
	Value    string
}

// ReceiveMessages is ReceiveMessage without its waiting: it hands out what can
// be handed out now.
type ReceiveMessages struct {
	Queue             string
	MaxMessages       Int // 1..10, default 1
	VisibilityTimeout Int // seconds 0..43200, default from the queue
	AttemptID         string
	AttemptIDGiven    bool
	// ShortPoll is set when the caller does not wait; only then the
	// in-flight limit of a standard queue is an error (OverLimit).
	ShortPoll bool
}

// DeleteMessages is DeleteMessage and DeleteMessageBatch.
type DeleteMessages struct {
	Queue   string
	Batch   bool
	Handles []string // receipt handles as sent by the client
}

// ChangeMessageVisibility is the action of that name and its batch form.
type ChangeMessageVisibility struct {
	Queue   string
	Batch   bool
	Entries []VisibilityEntry
}

// VisibilityEntry asks for a new visibility timeout of one delivery.
type VisibilityEntry struct {
	Handle            string
	VisibilityTimeout Int // seconds 0..43200
}

// StartMoveTask starts moving messages out of a dead-letter queue.
type StartMoveTask struct {
	Source       string // queue name
	Destination  string // queue name; empty: each message goes back where it came from
	MaxPerSecond Int    // 1..500
}

// CancelMoveTask stops a running move task.
type CancelMoveTask struct {
	TaskID string
	Source string // queue name taken from the task handle
}

// MoveMessages is one bounded step of a move task, proposed by the leader.
type MoveMessages struct {
	TaskID string
	Max    int // 1..MoveStepMax
}

// QueueName implements Command.
func (*AdvanceClock) QueueName() string { return "" }

// QueueName implements Command.
func (*SetFormatVersion) QueueName() string { return "" }

// QueueName implements Command.
func (*SetClusterSetting) QueueName() string { return "" }

// QueueName implements Command.
func (c *CreateQueue) QueueName() string { return "" }

// QueueName implements Command.
func (c *DeleteQueue) QueueName() string { return c.Queue }

// QueueName implements Command.
func (c *SetQueueAttributes) QueueName() string { return c.Queue }

// QueueName implements Command.
func (c *SetQueueTags) QueueName() string { return c.Queue }

// QueueName implements Command.
func (c *SetQueuePolicy) QueueName() string { return c.Queue }

// QueueName implements Command.
func (c *PurgeQueue) QueueName() string { return c.Queue }

// QueueName implements Command.
func (c *SendMessages) QueueName() string { return c.Queue }

// QueueName implements Command.
func (c *ReceiveMessages) QueueName() string { return c.Queue }

// QueueName implements Command.
func (c *DeleteMessages) QueueName() string { return c.Queue }

// QueueName implements Command.
func (c *ChangeMessageVisibility) QueueName() string { return c.Queue }

// QueueName implements Command.
func (*StartMoveTask) QueueName() string { return "" }

// QueueName implements Command.
func (*CancelMoveTask) QueueName() string { return "" }

// QueueName implements Command.
func (*MoveMessages) QueueName() string { return "" }
