package history

import "time"

// Series are values by the name of their column. A nil value is missing.
type Series map[string][]*float64

// Answer has the series of one node.
type Answer struct {
	StepMs int64  `json:"stepMs"`
	FromMs int64  `json:"fromMs"`
	Node   Series `json:"node,omitempty"`  // not for a queue
	Queue  Series `json:"queue,omitempty"` // of a queue, or of all; nil: no series of it are here
}

// FineMax is the longest time that the short steps cover.
const FineMax = time.Hour

// Since returns the series of a queue, or of the node and all queues with an empty name, up to
// now. Times up to FineMax have steps of 10 seconds, longer ones of 5 minutes.
func (h *History) Since(queue string, since time.Duration, now time.Time) Answer {
	r := &fine
	if since > FineMax {
		r = &coarse
	}
	count := min(max(1, int64(since/time.Millisecond)/r.stepMs), r.slots)
	h.mu.RLock()
	defer h.mu.RUnlock()
	to := now.UnixMilli() / r.stepMs
	if r == &fine {
		to = min(to, max(h.last, to-1)) // the step of now has no sample yet
	}
	from := to - count + 1
	a := Answer{StepMs: r.stepMs, FromMs: from * r.stepMs}
	if queue == "" {
		a.Node, a.Queue = h.window(&h.node, r, from, to), h.window(&h.totals, r, from, to)
	} else if t := h.queues[queue]; t != nil {
		a.Queue = h.window(&t.block, r, from, to)
	}
	return a
}

// Depths returns the messages of a queue in the last steps of 10 seconds, up to the newest sample.
// It returns nil if the queue has no series; a number below zero is a step without a sample.
func (h *History) Depths(queue string, steps int) []int64 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	t := h.queues[queue]
	if t == nil {
		return nil
	}
	steps = min(steps, int(fine.slots))
	list := make([]int64, steps)
	for i := range list {
		step := h.last - int64(steps-1-i)
		if step < 0 {
			list[i] = -1
			continue
		}
		for column := range depthColumns {
			v := *t.block.at(column, &fine, step)
			if v == missing {
				list[i] = -1
				break
			}
			list[i] += v.decode()
		}
	}
	return list
}

// window returns series in which steps without samples are missing: their slots may hold values
// of an earlier round.
func (h *History) window(b *block, r *ring, from, to int64) Series {
	all := b.series(r, from, to)
	newest := h.last * fineMs / r.stepMs
	for _, list := range all { // order does not matter
		for i := range list {
			if step := from + int64(i); step > newest || step <= newest-r.slots {
				list[i] = nil
			}
		}
	}
	return all
}

// Merge merges the series of queues over nodes, in the steps of the first answer: counters are
// summed, and gauges come from the first node that has them. It returns nil if no node has any.
func Merge(answers []Answer) Series {
	if len(answers) == 0 {
		return nil
	}
	base := &answers[0]
	length, some := 0, false
	for i := range answers {
		for _, list := range answers[i].Queue { // order does not matter: all have the same length
			length, some = max(length, len(list)), true
		}
	}
	if !some {
		return nil
	}
	merged := make(Series, len(queueColumns))
	for _, c := range queueColumns {
		sum := make([]*float64, length)
		for i := range answers {
			for j, v := range Aligned(&answers[i], answers[i].Queue[c.name], base, length) {
				switch {
				case v == nil:
				case sum[j] == nil:
					n := *v
					sum[j] = &n
				case c.kind == counter:
					*sum[j] += *v
				}
			}
		}
		merged[c.name] = sum
	}
	return merged
}

// Aligned moves a list of one answer to the steps of another.
func Aligned(of *Answer, list []*float64, to *Answer, length int) []*float64 {
	aligned := make([]*float64, length)
	if of.StepMs != to.StepMs || to.StepMs == 0 {
		return aligned
	}
	shift := (of.FromMs - to.FromMs) / to.StepMs
	for i, v := range list {
		if j := int64(i) + shift; j >= 0 && j < int64(length) {
			aligned[j] = v
		}
	}
	return aligned
}
