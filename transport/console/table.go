package console

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/transport/ops/document"
	"github.com/seriatimq/seriatim/transport/servicebus/entity"
)

// queueRow is one queue in a list.
type queueRow struct {
	Name     string // qualified by its account
	FIFO     bool
	Visible  int64
	InFlight int64
	Delayed  int64
	Deferred int64
	Groups   int64
	Blocked  int64
	Dedup    int64
	Oldest   int64 // when the oldest message was sent, in milliseconds; 0: there is none
	// DeadLetterQueue takes the messages that are received too often; empty: none.
	DeadLetterQueue string
	DeadLetters     int64   // messages in DeadLetterQueue
	IsDeadLetter    bool    // the queue is one
	Paused          bool    // deliveries are
	In, Out         float64 // sent and received per second
	// Trend has the points of a line: the messages of the last 15 minutes; empty: unknown.
	Trend string
}

// Messages counts all messages of the queue.
func (r queueRow) Messages() int64 { return r.Visible + r.InFlight + r.Delayed + r.Deferred }

// Entity returns the path of the entity of Azure Service Bus, empty if it is just the name.
func (r queueRow) Entity() string {
	name := access.PlainName(r.Name)
	path, ok := entity.OfQueue(name)
	if !ok || path+".fifo" == name {
		return ""
	}
	return path
}

// Waiting counts the messages that wait for a time, or are deferred.
func (r queueRow) Waiting() int64 { return r.Delayed + r.Deferred }

// queueTable is all queues at about one moment.
type queueTable struct {
	Now    int64 // log time in milliseconds
	Rows   []queueRow
	Topics int
	Total  queueRow
	Rates  bool // the rows have rates
}

// tableAge is the time for which a table serves further pages. Ten browsers then cost as much as one.
const tableAge = time.Second

// tableCache keeps the last table. Safe for concurrent use.
type tableCache struct {
	mu   sync.Mutex
	at   time.Time
	last queueTable

	rates   map[string]document.QueueRates
	ratesAt time.Time
}

// table returns all queues. It reads the state of this node, so that no page costs the leader anything.
func (c *Console) table(ctx context.Context) queueTable {
	t := &c.tables
	now := c.Now()
	t.refreshRates(ctx, c, now)
	t.mu.Lock()
	defer t.mu.Unlock()
	if age := now.Sub(t.at); !t.at.IsZero() && age >= 0 && age < tableAge {
		return t.last
	}
	t.last, t.at = c.readTable(), now
	t.last.Rates = t.rates != nil
	for i := range t.last.Rows {
		of := t.rates[t.last.Rows[i].Name]
		t.last.Rows[i].In, t.last.Rows[i].Out = of.Sent, of.Received
	}
	return t.last
}

const (
	ratesTimeout = time.Second     // for the answers of other nodes
	ratesAge     = 5 * time.Second // nodes take a sample every 10 s
)

// refreshRates asks all nodes for their rates. One request waits for a node that does not answer;
// the others go on with the rates before.
func (t *tableCache) refreshRates(ctx context.Context, c *Console, now time.Time) {
	t.mu.Lock()
	age := now.Sub(t.ratesAt)
	stale := age < 0 || age >= ratesAge
	if stale {
		t.ratesAt = now
	}
	t.mu.Unlock()
	if !stale {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ratesTimeout) // the rates serve other requests, too
	defer cancel()
	rates, known := c.Admin.Rates(ctx)
	if !known {
		rates = nil
	}
	t.mu.Lock()
	t.rates = rates
	t.mu.Unlock()
}

func (c *Console) readTable() queueTable {
	var read queueTable
	cluster.EachQueue(c.Node.ReadLocal, func(v queue.View, name string, stats *queue.QueueStats) {
		read.Rows = append(read.Rows, rowWith(v, name, stats))
	})
	c.Node.ReadLocal(func(v queue.View) { read.Now, read.Topics = c.clock(v), v.Topics() })
	byName := make(map[string]int64, len(read.Rows))
	for _, row := range read.Rows {
		byName[row.Name] = row.Messages()
		read.Total.Visible += row.Visible
		read.Total.InFlight += row.InFlight
		read.Total.Delayed += row.Delayed
		read.Total.Deferred += row.Deferred
		read.Total.Groups += row.Groups
		read.Total.Blocked += row.Blocked
		read.Total.Dedup += row.Dedup
	}
	for i := range read.Rows {
		if target := read.Rows[i].DeadLetterQueue; target != "" {
			read.Rows[i].DeadLetters = byName[target]
		}
	}
	return read
}

// clock returns the time by which ages are shown. The time of the log stands still while nothing is
// written.
func (c *Console) clock(v queue.View) int64 { return max(int64(v.Now()), c.Now().UnixMilli()) }

// rowOf reads one queue.
func rowOf(v queue.View, name string) (row queueRow, ok bool) {
	stats, refused := v.Stats(name)
	if refused != nil {
		return row, false
	}
	return rowWith(v, name, &stats), true
}

// rowWith is rowOf for a queue whose counters were read.
func rowWith(v queue.View, name string, stats *queue.QueueStats) queueRow {
	attributes, _ := v.Typed(name) // the queue exists
	return queueRow{
		Name: name, Paused: attributes.DeliveryPaused, FIFO: strings.HasSuffix(name, ".fifo"), Visible: stats.Visible,
		InFlight: stats.NotVisible, Delayed: stats.Delayed,
		Deferred: stats.Deferred, Groups: stats.Groups, Blocked: stats.BlockedGroups, Dedup: stats.DeduplicationEntries,
		Oldest: int64(stats.OldestSentAt), DeadLetterQueue: v.DeadLetterQueue(name), IsDeadLetter: stats.DeadLetterTarget,
	}
}

// queueFilter chooses and sorts queues.
type queueFilter struct {
	Find, Only, Sort string
	Desc             bool
}

// matches reports whether a list shows a row.
func (f queueFilter) matches(r queueRow) bool {
	find := strings.ToLower(f.Find)
	if !strings.Contains(strings.ToLower(r.Name), find) && !strings.Contains(strings.ToLower(r.Entity()), find) {
		return false
	}
	switch f.Only {
	case "messages":
		return r.Messages() > 0
	case "blocked":
		return r.Blocked > 0
	case "inflight":
		return r.InFlight > 0
	case "deadletters":
		return r.DeadLetters > 0
	case "fifo":
		return r.FIFO
	case "standard":
		return !r.FIFO
	}
	return true
}

// columns compares rows by the columns of the list.
var columns = map[string]func(a, b queueRow) int{
	"name":     func(a, b queueRow) int { return 0 },
	"visible":  func(a, b queueRow) int { return cmp.Compare(a.Visible, b.Visible) },
	"inflight": func(a, b queueRow) int { return cmp.Compare(a.InFlight, b.InFlight) },
	"delayed":  func(a, b queueRow) int { return cmp.Compare(a.Delayed+a.Deferred, b.Delayed+b.Deferred) },
	"groups":   func(a, b queueRow) int { return cmp.Compare(a.Groups, b.Groups) },
	"blocked":  func(a, b queueRow) int { return cmp.Compare(a.Blocked, b.Blocked) },
	"dedup":    func(a, b queueRow) int { return cmp.Compare(a.Dedup, b.Dedup) },
	"dlq":      func(a, b queueRow) int { return cmp.Compare(a.DeadLetters, b.DeadLetters) },
	"in":       func(a, b queueRow) int { return cmp.Compare(a.In, b.In) },
	"out":      func(a, b queueRow) int { return cmp.Compare(a.Out, b.Out) },
	"oldest": func(a, b queueRow) int { // the older one is the larger one
		switch {
		case a.Oldest == 0 || b.Oldest == 0:
			return cmp.Compare(a.Oldest, b.Oldest)
		default:
			return cmp.Compare(b.Oldest, a.Oldest)
		}
	},
}

// choose returns the matching rows of an account, sorted. With all, it returns those of all accounts.
func (f queueFilter) choose(rows []queueRow, all bool, owner string) []queueRow {
	chosen := make([]queueRow, 0, len(rows))
	for _, r := range rows {
		if (all || access.OwnerOf(r.Name) == owner) && f.matches(r) {
			chosen = append(chosen, r)
		}
	}
	by := columns[f.Sort]
	slices.SortStableFunc(chosen, func(a, b queueRow) int {
		order := 0
		if by != nil {
			order = by(a, b)
		}
		if order == 0 {
			order = cmp.Compare(a.Name, b.Name)
		}
		if f.Desc {
			return -order
		}
		return order
	})
	return chosen
}
