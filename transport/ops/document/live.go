package document

// QueueRates counts the events of a queue per second, over all nodes, in the last samples.
type QueueRates struct {
	Sent          float64 `json:"sent"`
	Received      float64 `json:"received"`
	Deleted       float64 `json:"deleted"`
	Duplicates    float64 `json:"duplicates"`
	EmptyReceives float64 `json:"emptyReceives"`
}

// History is the answer of GET /v1/history: series of numbers with one value every StepMs from
// FromMs on; null where no sample exists. The parameters are queue and since (15m, 1h, 6h or 24h).
// Without a queue, the series are those of the cluster, and Nodes has the series of each node.
type History struct {
	Queue   string        `json:"queue,omitempty"`
	StepMs  int64         `json:"stepMs"`
	FromMs  int64         `json:"fromMs"`
	Series  Series        `json:"series"`
	Nodes   []NodeHistory `json:"nodes,omitempty"`
	Missing []string      `json:"missing"` // nodes without an answer
}

// NodeHistory has the series of one node, in the steps of its History.
type NodeHistory struct {
	NodeID string `json:"nodeId"`
	Node   string `json:"node"`
	Series Series `json:"series"`
}

// Series are the values by name of the series. Rates are per second, times end in their unit.
type Series map[string][]*float64

// Connection is an open connection of a client or an operator.
type Connection struct {
	ID            string `json:"id"` // unique on its node
	NodeID        string `json:"nodeId"`
	Node          string `json:"node"`
	Port          string `json:"port"` // client or admin
	Address       string `json:"address"`
	Protocol      string `json:"protocol"`            // of the last request: json, query, grpc or admin
	AccessKey     string `json:"accessKey,omitempty"` // id, or the name of an operator
	UserAgent     string `json:"userAgent,omitempty"`
	SinceMs       int64  `json:"sinceMs"`
	LastRequestMs int64  `json:"lastRequestMs,omitempty"`
	Requests      int64  `json:"requests"`
	Action        string `json:"action,omitempty"` // of the last request
	Queue         string `json:"queue,omitempty"`  // or topic, of the last request
	Waiting       int64  `json:"waiting"`          // requests without an answer, such as long polls
}

// Connections is the answer of GET /v1/connections: the connections of all nodes. The parameters
// are node, port, queue and accessKey.
type Connections struct {
	Connections []Connection `json:"connections"`
	// Untracked counts the connections beyond the limit of the table.
	Untracked int64    `json:"untracked,omitempty"`
	Missing   []string `json:"missing"` // nodes without an answer
}

// CloseConnection asks POST /v1/connections/close to close a connection.
type CloseConnection struct {
	Node string `json:"node"` // node id or name; empty: the node that answers
	ID   string `json:"id"`
}

// ClosedConnection is the answer of POST /v1/connections/close.
type ClosedConnection struct {
	Node   string `json:"node"`
	ID     string `json:"id"`
	Closed bool   `json:"closed"` // false: it was not open
}

// SetLogLevel asks POST /v1/logs/level to change the level of the log until the node restarts.
type SetLogLevel struct {
	Node  string `json:"node"`  // node id or name; empty: all nodes
	Level string `json:"level"` // debug, info, warn or error
}

// LogLevels is the answer of GET and POST /v1/logs/level.
type LogLevels struct {
	Nodes   []LogLevel `json:"nodes"`
	Missing []string   `json:"missing"` // nodes without an answer
}

// LogLevel is the lowest level of the records that a node writes.
type LogLevel struct {
	Node   string `json:"node"`
	NodeID string `json:"nodeId"`
	Level  string `json:"level"`
}

// Settings is the answer of GET /v1/settings.
type Settings struct {
	Settings []Setting `json:"settings"`
	Missing  []string  `json:"missing"` // nodes without an answer
}

// Setting has the values of one setting on all nodes.
type Setting struct {
	Name    string         `json:"name"`
	Default string         `json:"default"`
	Own     bool           `json:"own"`     // every node has its own value, such as an address
	Differs bool           `json:"differs"` // a node has another value than the others, although the setting is not Own
	Values  []SettingValue `json:"values"`
}

// SettingValue is the value of a setting on one node.
type SettingValue struct {
	Node   string `json:"node"`
	NodeID string `json:"nodeId"`
	Value  string `json:"value"`
}

// Holding is a message in flight or a session that a client holds.
type Holding struct {
	Group          string `json:"group,omitempty"`
	Session        bool   `json:"session,omitempty"`   // Group is the id of a session that the client has locked
	MessageID      string `json:"messageId,omitempty"` // the first message of a group
	SequenceNumber string `json:"sequenceNumber,omitempty"`
	Node           string `json:"node,omitempty"` // that served the client; empty with Address: unknown
	Address        string `json:"address,omitempty"`
	AccessKey      string `json:"accessKey,omitempty"`
	Protocol       string `json:"protocol,omitempty"`
	UserAgent      string `json:"userAgent,omitempty"`
	SinceMs        int64  `json:"sinceMs,omitempty"`
	UntilMs        int64  `json:"untilMs,omitempty"` // end of the visibility timeout or the lock
}

// HolderList is the answer of GET /v1/holders. The parameters are queue and limit.
type HolderList struct {
	Queue   string    `json:"queue"`
	Holders []Holding `json:"holders"`
	// Truncated reports that the queue has more messages in flight than the answer shows.
	Truncated bool     `json:"truncated,omitempty"`
	Missing   []string `json:"missing"` // nodes without an answer
}

// Record is a record of the log or the audit log of a node.
type Record struct {
	TimeMs  int64  `json:"timeMs"`
	NodeID  string `json:"nodeId"`
	Node    string `json:"node"`
	Level   string `json:"level"` // DEBUG, INFO, WARN or ERROR
	Message string `json:"message"`
	// Attributes are the attributes of the record, in order.
	Attributes []RecordAttribute `json:"attributes"`
	// Seq is the number of the record on its node since the start of the process.
	Seq uint64 `json:"seq"`
}

// RecordAttribute is an attribute of a Record.
type RecordAttribute struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Records is the answer of GET /v1/audit and GET /v1/logs: records of all nodes in the order of
// time, the newest last. The parameters are limit, after, since (a time in ms or a duration), find
// (text in the message or an attribute) and for logs level, the lowest one.
type Records struct {
	Records []Record `json:"records"`
	// After is the value of the parameter after for the records that follow.
	After   string   `json:"after"`
	Missing []string `json:"missing"` // nodes without an answer
}
