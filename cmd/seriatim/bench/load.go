package bench

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/transport/grpc/client"
)

// Protocols of a load.
const (
	HTTP   = "http"   // unary calls, SQS JSON over HTTP/1.1
	GRPC   = "grpc"   // unary calls of the native API
	Stream = "stream" // streams of the native API
)

// Workload is one kind of load.
type Workload struct {
	Name, Short, Long, Example string
	Clients                    int // by default
	Protocols                  []string
	Batched                    bool // uses Load.Batch and Load.Groups
	start                      func(r *run) job
}

// Workloads lists all kinds of load.
var Workloads = []Workload{
	{
		Name: "send", Short: "Send messages with unique deduplication ids", Clients: 64, Protocols: []string{HTTP, GRPC, Stream},
		Batched: true, start: newSends,
		Long: "Send messages with unique deduplication ids, each client to its own groups, and receive none of them.\n" +
			"Clients count failed calls and do not repeat them. On a stream the Go client chooses the batches.\n\n" +
			"With --repeat that percentage of the messages has an earlier id of the same client. The answer must then contain the\n" +
			"message id of the first answer, and at the end the queue must hold one message for each id. Clients repeat failed\n" +
			"calls until they succeed. Such a run takes at most 4 minutes, because a queue forgets ids after 5.",
		Example: "  seriatim bench send --clients 64 --batch 10 --endpoint " +
			"http://127.0.0.1:9324,http://127.0.0.1:9334,http://127.0.0.1:9344\n" +
			"  seriatim bench send --clients 64 --protocol grpc --connections 4\n" +
			"  seriatim bench send --repeat 50\n" +
			"  seriatim bench send --count 1000000 --batch 10 --size 1024 --queue parked.fifo --keep",
	},
	{
		Name: "fifo", Short: "Send, receive and delete, and check order, loss and duplicates", Clients: 64, Protocols: []string{HTTP, GRPC},
		Batched: true, start: newLives,
		Long: "Send, receive and delete, and check order, loss and duplicates.\n\n" +
			"Each client sends a batch, then receives and deletes as many messages as it sent, of any group. A group has one\n" +
			"sender, so its order is known, and the command checks it across all clients. Clients repeat failed sends and deletes\n" +
			"until they succeed. A life begins with the first attempt to send a message and ends with its confirmed deletion.\n\n" +
			"Redelivered counts second deliveries before the deletion was confirmed, because an answer was lost. A delivery\n" +
			"after that is a broken guarantee.",
		Example: "  seriatim bench fifo --clients 64\n  seriatim bench fifo --clients 64 --batch 10 --duration 30s -o json",
	},
	{
		Name: "consume", Short: "Fill a queue, then receive and delete all of it", Clients: 64, Protocols: []string{HTTP, GRPC, Stream},
		Batched: true, start: newConsumes,
		Long: "Fill a queue with --count messages, 100000 unless given, then receive and delete all of them, and check order,\n" +
			"loss and duplicates. The measurement covers only the second part. A life begins with the delivery and ends with the\n" +
			"confirmed deletion. On a stream a client holds up to 1000 messages, and lives have no times.",
		Example: "  seriatim bench consume --batch 10\n  seriatim bench consume --clients 4 --groups 64 --protocol stream --count 500000",
	},
	{
		Name: "poll", Short: "Keep many consumers waiting and measure how fast a message wakes one", Clients: 1000,
		Protocols: []string{HTTP}, start: newPolls,
		Long: "Keep many consumers waiting and measure how fast a message wakes one.\n\n" +
			"All clients wait in long polls of 20 seconds on one queue. First the command counts new log entries without messages,\n" +
			"because waiting should write none. Then it sends ten messages a second, to each endpoint in turn. Receive is the time\n" +
			"from the start of a send until a consumer has the message.",
		Example: "  seriatim bench poll --clients 10000 -o json",
	},
}

// Load describes a run.
type Load struct {
	Workload    *Workload
	Protocol    string
	Clients     int
	Connections int // shared connections of gRPC; 0: one for each client
	Batch       int // messages in one call
	Size        int // bytes of a body
	Groups      int // 0: one for each client
	Count       int64
	Rate        float64 // messages a second of all clients; 0: the next call follows the answer to the last
	Repeat      int     // percentage of messages with an earlier id
	Duration    time.Duration
	Warmup      time.Duration
	Idle        time.Duration // how long consumers wait before the first message, for poll
	Queue       string        // empty: a new name
	Keep        bool          // the queue stays after the run
	Existing    bool          // use a queue that exists
	Attributes  map[string]string
}

// Bounds of a load. They keep a typing error from filling a disk.
const (
	clientsMax  = 20_000
	countMax    = 1_000_000_000
	groupsMax   = 10_000_000
	durationMax = 24 * time.Hour
	batchMax    = 10
	bodiesMax   = 1 << 20 // bytes of one call
	repeatTime  = 4 * time.Minute
	consumed    = 100_000 // messages of consume without --count
)

// Check fills in defaults and returns an error for an invalid load.
func (l *Load) Check() error {
	l.Groups = cmp.Or(l.Groups, l.Clients)
	name := l.Workload.Name
	if name == "consume" {
		l.Count = cmp.Or(l.Count, consumed)
	}
	for _, flag := range []struct {
		name             string
		value, low, high float64
	}{
		{"clients", float64(l.Clients), 1, clientsMax},
		{"batch", float64(l.Batch), 1, batchMax},
		{"size", float64(l.Size), 1, float64(bodiesMax / max(l.Batch, 1))},
		{"count", float64(l.Count), 0, countMax},
		{"groups", float64(l.Groups), 1, groupsMax},
		{"connections", float64(l.Connections), 0, float64(l.Clients)},
		{"repeat", float64(l.Repeat), 0, 100},
		{"rate", l.Rate, 0, countMax},
	} {
		if flag.value < flag.low || flag.value > flag.high {
			return fmt.Errorf("--%s %g: it must be %g to %g", flag.name, flag.value, flag.low, flag.high)
		}
	}
	switch {
	case l.Duration <= 0 || l.Duration > durationMax || l.Warmup < 0 || l.Warmup > durationMax || l.Idle < 0:
		return fmt.Errorf("--duration must be more than zero, --warmup and --idle at least zero, and all at most %v", durationMax)
	case l.Queue != "" && !strings.HasSuffix(l.Queue, ".fifo"):
		return fmt.Errorf("--queue %s: the name of a FIFO queue ends in .fifo", l.Queue)
	case !slices.Contains(l.Workload.Protocols, l.Protocol):
		return fmt.Errorf("--protocol %s: it must be one of %s", l.Protocol, strings.Join(l.Workload.Protocols, ", "))
	case l.Connections > 0 && l.Protocol != GRPC:
		return fmt.Errorf("--connections: clients share connections only with --protocol %s", GRPC)
	case l.Existing && (l.Queue == "" || len(l.Attributes) > 0):
		return errors.New("--existing needs --queue, and an existing queue keeps its attributes")
	case l.Repeat > 0 && (l.Duration+l.Warmup > repeatTime || l.Protocol == Stream):
		return fmt.Errorf("--repeat: --duration and --warmup must be together at most %v, and --protocol must not be %s",
			repeatTime, Stream)
	case (name == "fifo" || name == "consume") && l.Groups < l.Clients:
		return fmt.Errorf("--groups %d: %d clients need as many, because a group has one sender", l.Groups, l.Clients)
	}
	return nil
}

// Target is the cluster under load.
type Target struct {
	Addresses []string      // of client ports, host:port; clients use them in turn
	TLS       *tls.Config   // nil: no TLS
	Key       *client.Key   // nil: calls are not signed
	Account   string        // empty: that of the cluster
	Timeout   time.Duration // for a call; long polls add their wait
	Status    func(context.Context) (Status, error)
}

// Status is a part of the status of a node.
type Status struct {
	Version     string
	Nodes       int
	CommitIndex uint64
}
