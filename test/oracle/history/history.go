package history

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Kind is the kind of a line.
type Kind string

// The kinds of lines.
const (
	KindRun      Kind = "run"      // the first line: seed and rules
	KindOp       Kind = "op"       // one call by one client
	KindFault    Kind = "fault"    // a fault of the schedule, from Call to Return
	KindAgree    Kind = "agree"    // comparison of the replicas after healing
	KindLive     Kind = "live"     // first success after healing, through one node
	KindDrained  Kind = "drained"  // a queue was emptied completely
	KindObserved Kind = "observed" // evidence that a fault had an effect; Count is its extent
	KindStatus   Kind = "status"   // a node's role changed, or its log time was read
	KindAble     Kind = "able"     // a kind of fault that this machine may not support (Error says why)
	KindUsage    Kind = "usage"    // resources of a node's process; Action says when they were measured
	KindBreach   Kind = "breach"   // a fault itself saw that an invariant (Action) was broken; Error says how
	KindTouch    Kind = "touch"    // what a fault did to one node (Action), from Call to Return
	KindSteady   Kind = "steady"   // repeated demands for service without a new fault, from Call to Return
)

// Result is the outcome of an operation as its client sees it.
type Result string

// The results.
const (
	OK      Result = "ok"   // answered: success, or a refusal by a rule (Error is set)
	Fail    Result = "fail" // certainly no effect, now or later
	Unknown Result = "info" // it may have taken effect, or may still do so
)

// The actions of operations. Events of batches have Entries, whose fields are those of single
// calls.
const (
	Send            = "send"
	SendBatch       = "send batch"
	Receive         = "receive"
	Delete          = "delete"
	DeleteBatch     = "delete batch"
	Visibility      = "visibility"
	VisibilityBatch = "visibility batch"
	Purge           = "purge"
	CreateQueue     = "create queue"
	DeleteQueue     = "delete queue"
	SetAttributes   = "set attributes"
	Tag             = "tag"
	Counts          = "counts" // a read of queue attributes; they are in Attributes
)

// The attributes that count the messages of a queue. Their sum is the number of all.
const (
	Visible    = "ApproximateNumberOfMessages"
	NotVisible = "ApproximateNumberOfMessagesNotVisible"
	Delayed    = "ApproximateNumberOfMessagesDelayed"
)

// BytesDropped is the observed loss of a power cut, with the bytes in Count.
const BytesDropped = "un-synced bytes dropped"

// What a fault did to a node. A fault that could not be injected did nothing, whatever its name is.
const (
	TouchPowerCut  = "power cut"
	TouchHang      = "disk hang"
	TouchGone      = "disk gone"
	TouchFull      = "disk full"
	TouchError     = "disk error" // of single calls
	TouchSlow      = "disk slow"
	TouchFlip      = "bit flipped"
	TouchFailpoint = "failpoint armed"
	TouchPause     = "paused" // or starved
	TouchNetwork   = "lines touched"
	TouchTransfer  = "leadership asked for" // this node was asked to lead
	TouchRemove    = "removed"
	TouchClock     = "clock moved"     // Count is the difference in milliseconds; 0: its rate was changed
	TouchMachine   = "machine stalled" // for no node: the machine could not write, or did not run the harness
)

// Minority is the workload of calls to a node that is isolated from the others.
const Minority = "minority"

// ErrorMet is the observation that a node got an error from its disk.
const ErrorMet = "disk error met"

// CrashCode is the exit code of a process that ends at a failpoint. No process ends by itself with
// it.
const CrashCode = "99"

// Message is a message as a receive delivered it.
type Message struct {
	ID       string `json:"id"`
	Body     string `json:"body"`
	Group    string `json:"group"`
	Dedup    string `json:"dedup"`
	Sequence string `json:"seq"`
	Handle   string `json:"handle"`
	Count    int    `json:"count"`
	Sent     int64  `json:"sent"` // log time of the send in milliseconds
	// Extra is the text of the message's attributes, see AttributesText.
	Extra string `json:"extra,omitempty"`
}

// Event is a line of a history. Times are in microseconds since the start of the run, by the
// harness's monotonic clock.
type Event struct {
	Kind     Kind      `json:"kind"`
	ID       int64     `json:"id,omitempty"`
	Client   int       `json:"client,omitempty"`
	Workload string    `json:"workload,omitempty"`
	Node     string    `json:"node,omitempty"`
	Action   string    `json:"action,omitempty"`
	Call     int64     `json:"call"`
	Return   int64     `json:"return"`
	Result   Result    `json:"result,omitempty"`
	Error    string    `json:"error,omitempty"`
	Queue    string    `json:"queue,omitempty"`
	Group    string    `json:"group,omitempty"`
	Dedup    string    `json:"dedup,omitempty"`
	Body     string    `json:"body,omitempty"`
	Attempt  string    `json:"attempt,omitempty"`
	Handle   string    `json:"handle,omitempty"`
	Message  string    `json:"message,omitempty"` // of a send: its answer; of a delete: whose handle is used
	Sequence string    `json:"seq,omitempty"`
	Messages []Message `json:"messages,omitempty"`
	Detail
}

// Detail contains the fields of some kinds of lines.
type Detail struct {
	Index      uint64            `json:"index,omitempty"`   // of the log entry that answered
	LogTime    int64             `json:"logTime,omitempty"` // of that entry, milliseconds since 1970
	Most       int               `json:"most,omitempty"`    // of a receive: messages asked for
	Timeout    *int64            `json:"timeout,omitempty"` // visibility that a receive or a change asks for, microseconds
	Entries    []Entry           `json:"entries,omitempty"` // of a batch
	Attributes map[string]string `json:"attributes,omitempty"`
	Count      int64             `json:"count,omitempty"`
	Status     *Status           `json:"status,omitempty"`
	Rules      *Rules            `json:"rules,omitempty"`
	Usage      *Usage            `json:"usage,omitempty"`
	Stock      bool              `json:"stock,omitempty"`     // by a stock SDK, which repeats calls by itself
	Tries      int               `json:"tries,omitempty"`     // of a stock SDK; the last one got the answer
	Since      int64             `json:"since,omitempty"`     // of a call to a minority: when its node was cut off
	Extra      string            `json:"extra,omitempty"`     // of a send: the message's attributes, see AttributesText
	Digests    int               `json:"digests,omitempty"`   // of an answer: messages whose digests were compared
	BadDigest  string            `json:"badDigest,omitempty"` // the first wrong digest
	Injected   bool              `json:"struck,omitempty"`    // of a fault: it was injected, whether or not its repair succeeded
	Extension
}

// Entry is one entry of a batch.
type Entry struct {
	Group    string `json:"group,omitempty"`
	Dedup    string `json:"dedup,omitempty"`
	Body     string `json:"body,omitempty"`
	Handle   string `json:"handle,omitempty"`
	Message  string `json:"message,omitempty"`
	Sequence string `json:"seq,omitempty"`
	Timeout  *int64 `json:"timeout,omitempty"`
	Error    string `json:"error,omitempty"`
	Extra    string `json:"extra,omitempty"`
}

// Status is the observed state of a node. The role is "silent" if a node runs but does not answer,
// "down" if its process has ended, and "paused" if a signal stopped it.
type Status struct {
	Role     string `json:"role"`
	Term     uint64 `json:"term,omitempty"`
	Applied  uint64 `json:"applied,omitempty"`
	Snapshot uint64 `json:"snapshot,omitempty"`
	LogTime  int64  `json:"logTime,omitempty"` // milliseconds since 1970
	Hash     string `json:"hash,omitempty"`
}

// When a process is measured, besides regularly: after all repairs while clients still work, and
// when no client works.
const (
	Healed = "healed"
	AtRest = "at rest"
)

// Usage is the resource usage of a node's process.
type Usage struct {
	Pid         int   `json:"pid"`
	Memory      int64 `json:"memory"` // resident, bytes
	Descriptors int   `json:"descriptors"`
	Goroutines  int   `json:"goroutines,omitempty"` // 0: not measured
}

// Possible reports whether the operation may have taken effect: it succeeded, or its outcome is
// unknown.
func (e *Event) Possible() bool { return e.Result == Unknown || e.Result == OK && e.Error == "" }

// OpID returns the operation id that was sent with the call.
func (e *Event) OpID() string { return strconv.FormatInt(e.ID, 10) }

// Rules are the settings of a run that the checkers need. Times are in microseconds.
type Rules struct {
	Seed       uint64           `json:"seed"`
	Profile    string           `json:"profile,omitempty"` // which minimums hold
	Commit     string           `json:"commit,omitempty"`
	Command    string           `json:"command,omitempty"` // repeats the run
	Settings   string           `json:"settings,omitempty"`
	Started    int64            `json:"started"` // wall clock of time 0, milliseconds since 1970
	Window     int64            `json:"window"`  // deduplication, unless Windows has the queue
	Windows    map[string]int64 `json:"windows,omitempty"`
	Attempt    int64            `json:"attempt"` // receive attempts
	Visibility int64            `json:"visibility"`
	DeadLetter map[string]int   `json:"deadLetter,omitempty"` // maxReceiveCount of each queue with a dead-letter queue
	Slack      int64            `json:"slack"`                // time around a deadline in which both outcomes are legal
	Timeout    int64            `json:"timeout,omitempty"`    // of a request to a node without a majority
	Skewed     int64            `json:"skewed,omitempty"`     // end of the last time with a wrong clock in an earlier part
	Queues     []string         `json:"queues,omitempty"`     // that must be empty at the end
	Unmodelled []string         `json:"unmodelled,omitempty"` // that the reference model does not follow
	Quick      bool             `json:"quick,omitempty"`
	Must       []string         `json:"must,omitempty"` // counts that a fixed scenario must not leave at 0
	// Subscriptions are the subscriptions of the run's topics. A topic and its queues have the same
	// window.
	Subscriptions []Subscription `json:"subscriptions,omitempty"`
}

// WindowOf returns the deduplication window of a queue.
func (r *Rules) WindowOf(queue string) int64 {
	if w, found := r.Windows[queue]; found {
		return w
	}
	return r.Window
}

// DeadLetterOf returns the name of a queue's dead-letter queue, whether or not it has one.
func DeadLetterOf(queue string) string { return strings.TrimSuffix(queue, ".fifo") + "-dlq.fifo" }

// Singles replaces the batches of a history by their entries, as if each entry was a call of its
// own.
func Singles(events []Event) []Event {
	single := map[string]string{SendBatch: Send, DeleteBatch: Delete, VisibilityBatch: Visibility}
	out := make([]Event, 0, len(events))
	for _, e := range events {
		action, batch := single[e.Action]
		if e.Kind != KindOp || !batch {
			out = append(out, e)
			continue
		}
		for _, entry := range e.Entries {
			one := e
			one.Action, one.Entries = action, nil
			one.Group, one.Dedup, one.Body, one.Handle = entry.Group, entry.Dedup, entry.Body, entry.Handle
			one.Message, one.Sequence, one.Timeout = entry.Message, entry.Sequence, entry.Timeout
			one.Extra = entry.Extra
			if e.Result == OK && entry.Error != "" {
				one.Error = entry.Error
			}
			out = append(out, one)
		}
	}
	return out
}

// Read reads what a Recorder wrote.
func Read(r io.Reader) ([]Event, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	var events []Event
	for lines.Scan() {
		var e Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(events)+1, err)
		}
		events = append(events, e)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read a history: %w", err)
	}
	return events, nil
}
