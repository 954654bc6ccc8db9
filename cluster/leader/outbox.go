package leader

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/limits"
)

const (
	// postsMax bounds the posts in progress, over all subscriptions. From postsShared on, each
	// subscription has one at a time, so that slow endpoints leave room for others.
	postsMax    = 256
	postsShared = postsMax / 2
	// postsPerSubscriptionMax bounds the posts of one subscription. A failure reduces it to one;
	// each success doubles it again.
	postsPerSubscriptionMax = 16
)

// outboxRunner makes the HTTP deliveries of the state. One goroutine runs it. It looks at a
// subscription when a delivery was added, an attempt was reported, or the next attempt is due.
type outboxRunner struct {
	term   *Term
	posted chan posted   // unbuffered: attempts that ended
	noted  chan []report // unbuffered: reports that are in the log

	mu      sync.Mutex
	added   map[uint64]struct{} // subscriptions that got deliveries
	changed wakeup.Signal       // notified when added has an element

	lanes   map[uint64]*deliveryLane
	due     dueLanes
	posts   int                 // in progress
	starved map[uint64]struct{} // subscriptions that wait for a free post
	pending []report            // not yet proposed
	sending bool                // reports are being proposed
}

type report = queue.DeliveryReport

// deliveryLane is the progress of one subscription.
type deliveryLane struct {
	inFlight map[uint64]struct{} // being posted, or posted and not yet in the log
	limit    int                 // of inFlight
	wakeAt   queue.Timestamp     // its entry in dueLanes; 0: none
}

// posted is an attempt that ended.
type posted struct {
	report
	delivered bool
}

func newOutboxRunner(t *Term) *outboxRunner {
	return &outboxRunner{
		term: t, posted: make(chan posted), noted: make(chan []report),
		added: make(map[uint64]struct{}), changed: wakeup.NewSignal(),
		lanes: make(map[uint64]*deliveryLane), starved: make(map[uint64]struct{}),
	}
}

// add records that a subscription got a delivery. It never blocks.
func (r *outboxRunner) add(subscription uint64) {
	if r.term.options.Poster == nil {
		return
	}
	r.mu.Lock()
	r.added[subscription] = struct{}{}
	r.mu.Unlock()
	r.changed.Notify()
}

// run makes deliveries until ctx ends.
func (r *outboxRunner) run(ctx context.Context) {
	if r.term.options.Poster == nil {
		return
	}
	var work sync.WaitGroup
	defer work.Wait()
	var found []uint64
	r.term.options.Replica.Read(func(v queue.View) { found = v.OutboxSubscriptions() })
	for _, subscription := range found {
		r.add(subscription)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.changed:
			r.mu.Lock()
			added := r.added
			r.added = make(map[uint64]struct{})
			r.mu.Unlock()
			for subscription := range added { // order does not matter: each is looked at
				r.fill(ctx, &work, subscription)
			}
		case p := <-r.posted:
			r.ended(p)
			r.retryStarved(ctx, &work)
		case reports := <-r.noted:
			r.sending = false
			for _, done := range reports {
				if l := r.lanes[done.Subscription]; l != nil {
					delete(l.inFlight, done.Number)
				}
			}
			for _, done := range reports {
				r.fill(ctx, &work, done.Subscription)
			}
		case <-timer.C:
			for _, subscription := range r.due.take(r.term.logTime.now(), r.lanes) {
				r.fill(ctx, &work, subscription)
			}
		}
		r.propose(ctx, &work)
		r.reset(timer)
	}
}

// reset sets the timer to the next due attempt.
func (r *outboxRunner) reset(timer *time.Timer) {
	if len(r.due) > 0 {
		left := r.due[0].at.Sub(r.term.logTime.now())
		timer.Reset(time.Duration(max(left, 1)) * time.Millisecond)
	}
}

// fill begins the due attempts of a subscription, within the limits.
func (r *outboxRunner) fill(ctx context.Context, work *sync.WaitGroup, subscription uint64) {
	l := r.lanes[subscription]
	if l == nil {
		l = &deliveryLane{inFlight: make(map[uint64]struct{}), limit: postsPerSubscriptionMax}
		r.lanes[subscription] = l
	}
	var begin []queue.WebDelivery
	left := false // whether there are deliveries that are not in flight
	now := r.term.logTime.now()
	r.term.options.Replica.Read(func(v queue.View) {
		v.ScanDeliveries(subscription, func(number uint64, at queue.Timestamp, request func() queue.WebDelivery) bool {
			if _, underWay := l.inFlight[number]; underWay {
				return true
			}
			left = true
			switch {
			case at > now:
				r.wake(subscription, l, at)
				return false
			case len(l.inFlight) >= l.limit:
				return false
			case !r.mayPost(l, len(begin)):
				r.starved[subscription] = struct{}{}
				return false
			}
			l.inFlight[number] = struct{}{}
			begin = append(begin, request())
			return true
		})
	})
	for i := range begin {
		r.posts++
		work.Go(func() { r.post(ctx, subscription, &begin[i]) })
	}
	if !left && len(l.inFlight) == 0 {
		delete(r.lanes, subscription)
	}
}

// mayPost reports whether a subscription may have another post, besides the ones about to begin.
func (r *outboxRunner) mayPost(l *deliveryLane, begin int) bool {
	if len(l.inFlight) > 0 {
		return r.posts+begin < postsShared
	}
	return r.posts+begin < postsMax
}

// wake schedules a call of fill.
func (r *outboxRunner) wake(subscription uint64, l *deliveryLane, at queue.Timestamp) {
	if l.wakeAt == 0 || at < l.wakeAt {
		l.wakeAt = at
		heap.Push(&r.due, dueLane{at, subscription})
	}
}

// retryStarved looks again at subscriptions that waited for a free post.
func (r *outboxRunner) retryStarved(ctx context.Context, work *sync.WaitGroup) {
	for subscription := range r.starved { // order does not matter: any may be next
		if r.posts >= postsMax {
			return
		}
		if l := r.lanes[subscription]; l != nil && !r.mayPost(l, 0) {
			continue
		}
		delete(r.starved, subscription)
		r.fill(ctx, work, subscription)
	}
}

// ended records the result of an attempt.
func (r *outboxRunner) ended(p posted) {
	r.posts--
	r.term.options.Counters.Posts.Add(1)
	if !p.delivered {
		r.term.options.Counters.PostsFailed.Add(1)
	}
	r.pending = append(r.pending, p.report)
	l := r.lanes[p.Subscription]
	if p.delivered {
		l.limit = min(2*l.limit, postsPerSubscriptionMax)
	} else {
		l.limit = 1
	}
}

// propose writes pending results to the log, in one command.
func (r *outboxRunner) propose(ctx context.Context, work *sync.WaitGroup) {
	if r.sending || len(r.pending) == 0 {
		return
	}
	n := min(len(r.pending), limits.DeliveryReportsMax)
	reports := r.pending[:n:n]
	r.pending = r.pending[n:]
	r.sending = true
	work.Go(func() {
		for {
			err := r.term.Execute(ctx, &queue.ReportDeliveries{Reports: reports})
			if err == nil || ctx.Err() != nil {
				break
			}
			// The outcome is unknown, or a transfer of leadership refused the command and may yet
			// fail. A repeated report counts once.
			r.term.options.Log.Debug("reporting deliveries over HTTP failed", "error", err)
			if !wakeup.Sleep(ctx, stepPause) {
				break
			}
		}
		select {
		case r.noted <- reports:
		case <-ctx.Done():
		}
	})
}

// dueLane is the time at which to look at a subscription.
type dueLane struct {
	at           queue.Timestamp
	subscription uint64
}

// dueLanes is a heap ordered by time. A subscription may have several entries; only the one at its
// wakeAt counts.
type dueLanes []dueLane

func (d dueLanes) Len() int           { return len(d) }
func (d dueLanes) Less(i, j int) bool { return d[i].at < d[j].at }
func (d dueLanes) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }

// Push implements heap.Interface.
func (d *dueLanes) Push(x any) { *d = append(*d, x.(dueLane)) }

// Pop implements heap.Interface.
func (d *dueLanes) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}

// take removes the due entries and returns their subscriptions.
func (d *dueLanes) take(now queue.Timestamp, lanes map[uint64]*deliveryLane) (all []uint64) {
	for len(*d) > 0 && (*d)[0].at <= now {
		next := heap.Pop(d).(dueLane)
		if l := lanes[next.subscription]; l != nil && l.wakeAt == next.at {
			l.wakeAt = 0
			all = append(all, next.subscription)
		}
	}
	return all
}
