// Package document defines the JSON documents of the admin port. The server, the command
// line and the tests share these types. Package cluster defines the documents about nodes
// and members: Status, MemberList, Upgrade and Restored.
package document

import "github.com/seriatimq/seriatim/cluster"

// Refusal is the answer to a failed request. Kind and Hint are set for changes that the state or
// the members do not permit.
type Refusal struct {
	Error string              `json:"error"`
	Kind  cluster.RefusalKind `json:"kind,omitempty"`
	Hint  string              `json:"hint,omitempty"`
}

// Drain is the answer of /v1/cluster/drain and /v1/cluster/uncordon.
type Drain struct {
	NodeID  string `json:"nodeId"`
	Drained bool   `json:"drained"`
}

// AccessKey describes an access key. Only the answer to its creation has the secret.
type AccessKey struct {
	ID        string `json:"id"`
	Secret    string `json:"secret,omitempty"`
	Account   string `json:"account"`
	User      string `json:"user,omitempty"` // empty: the account itself
	Active    bool   `json:"active"`
	CreatedAt string `json:"createdAt,omitempty"`
}

// AccessKeys lists access keys.
type AccessKeys struct {
	Keys []AccessKey `json:"keys"`
}

// NewAccessKey creates an access key. The server draws a missing id and secret.
type NewAccessKey struct {
	ID      string `json:"id,omitempty"`
	Secret  string `json:"secret,omitempty"`
	Account string `json:"account,omitempty"` // empty: that of the cluster
	User    string `json:"user,omitempty"`
}

// UserPolicy is the policy of a user. An empty policy deletes it.
type UserPolicy struct {
	Account string `json:"account"`
	User    string `json:"user"`
	Policy  string `json:"policy"`
}

// UserPolicies lists the policies of users.
type UserPolicies struct {
	Policies []UserPolicy `json:"policies"`
}

// Simulation is the answer of GET /v1/access/simulate. The parameters are key, or user and
// account; action, resource, and any number of context.
type Simulation struct {
	Allowed        bool     `json:"allowed"`
	DecidedBy      string   `json:"decidedBy"`
	Caller         string   `json:"caller"`
	Action         string   `json:"action"` // the requested permission
	Resource       string   `json:"resource"`
	Exists         bool     `json:"exists"` // true also if the action has no resource
	UserPolicy     *Verdict `json:"userPolicy,omitempty"`
	ResourcePolicy *Verdict `json:"resourcePolicy,omitempty"`
	Enforced       bool     `json:"enforced"` // the client port of this node verifies signatures
}

// Verdict names the statement of one policy that decides a request.
type Verdict struct {
	Effect    string `json:"effect"`
	Statement int    `json:"statement"` // from 1
	Sid       string `json:"sid,omitempty"`
}

// Quota holds the limits of an account; zero is no limit.
type Quota struct {
	Queues            int64 `json:"queues"`
	Topics            int64 `json:"topics"`
	Messages          int64 `json:"messages"`
	Bytes             int64 `json:"bytes"`
	RequestsPerSecond int64 `json:"requestsPerSecond"`
}

// Usage counts the queues, topics and messages of an account.
type Usage struct {
	Queues   int64 `json:"queues"`
	Topics   int64 `json:"topics"`
	Messages int64 `json:"messages"`
	Bytes    int64 `json:"bytes"`
}

// Account describes an account.
type Account struct {
	Account   string `json:"account"`
	Own       bool   `json:"own,omitempty"` // that of the cluster, which always exists
	Quota     Quota  `json:"quota"`
	Usage     Usage  `json:"usage"`
	CreatedAt string `json:"createdAt,omitempty"`
}

// Accounts lists accounts, the cluster's own first.
type Accounts struct {
	Accounts []Account `json:"accounts"`
}

// NewAccount creates an account.
type NewAccount struct {
	Account string `json:"account"`
	Quota   Quota  `json:"quota"`
}

// Queues is the answer of GET /v1/queues: queues by name with their counts, all read at the
// same moment. The parameters are prefix, after (the name before the first) and limit.
type Queues struct {
	Queues []QueueCounts `json:"queues"`
	// Next is the value of after for the next page, empty on the last.
	Next string `json:"next,omitempty"`
}

// QueueCounts counts the messages of a queue.
type QueueCounts struct {
	Name     string `json:"name"`
	Visible  int64  `json:"visible"`
	InFlight int64  `json:"inFlight"`
	Delayed  int64  `json:"delayed"`
	Deferred int64  `json:"deferred"`
	// OldestSentAtMs is the time at which the oldest message was sent; 0: the queue is empty.
	OldestSentAtMs   int64 `json:"oldestSentAtMs"`
	Groups           int64 `json:"groups"`
	BlockedGroups    int64 `json:"blockedGroups"`
	DeduplicationIDs int64 `json:"deduplicationIds"`
	Paused           bool  `json:"paused"` // deliveries are paused
	// DeadLetterQueue is the name of the dead-letter queue, and DeadLetters its depth.
	DeadLetterQueue string `json:"deadLetterQueue,omitempty"`
	DeadLetters     int64  `json:"deadLetters,omitempty"`
	// Rates is null until this node has two samples.
	Rates *QueueRates `json:"rates,omitempty"`
}

// Peek is the answer of GET /v1/queues/{name}/messages. The parameters are from (a sequence
// number), group and limit. Peeking changes nothing and does not count as a receive.
type Peek struct {
	Queue    string    `json:"queue"`
	Messages []Message `json:"messages"`
	// Truncated reports that the size limit ended the page early.
	Truncated bool `json:"truncated,omitempty"`
	// Next is the value of from for the next page, empty on the last.
	Next string `json:"next,omitempty"`
}

// Message is a stored message.
type Message struct {
	MessageID        string             `json:"messageId"`
	SequenceNumber   string             `json:"sequenceNumber,omitempty"`
	GroupID          string             `json:"groupId,omitempty"`
	DeduplicationID  string             `json:"deduplicationId,omitempty"`
	State            string             `json:"state"`
	SentAtMs         int64              `json:"sentAtMs"`
	VisibleAtMs      int64              `json:"visibleAtMs,omitempty"`
	FirstReceivedMs  int64              `json:"firstReceivedAtMs,omitempty"`
	ReceiveCount     int64              `json:"receiveCount"`
	SenderID         string             `json:"senderId,omitempty"`
	DeadLetterSource string             `json:"deadLetterSource,omitempty"`
	Attributes       []MessageAttribute `json:"attributes,omitempty"`
	Body             string             `json:"body"`
	BodyEncoding     string             `json:"bodyEncoding,omitempty"` // base64 if the body is not text
}

// MessageAttribute is an attribute of a message. Its value is in base64, whatever its type.
type MessageAttribute struct {
	Name     string `json:"name"`
	DataType string `json:"dataType"`
	Value    []byte `json:"value"`
}

// DeduplicationID describes the memory of a deduplication id. Unless Known, the rest is missing.
type DeduplicationID struct {
	DeduplicationID string `json:"deduplicationId"`
	Known           bool   `json:"known"` // a send would be a duplicate
	MessageID       string `json:"messageId,omitempty"`
	SequenceNumber  string `json:"sequenceNumber,omitempty"`
	Scope           string `json:"scope,omitempty"`
	State           string `json:"state,omitempty"` // of the message, if a queue remembers the id
	AcceptedAtMs    int64  `json:"acceptedAtMs,omitempty"`
	ForgottenAtMs   int64  `json:"forgottenAtMs,omitempty"`
}
