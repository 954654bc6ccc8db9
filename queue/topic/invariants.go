package topic

import (
	"fmt"
	"slices"
)

// Compare reports how the indexes differ from those of another registry, built from the records.
func (r *Registry) Compare(other *Registry) error {
	if r.sum != other.sum {
		return fmt.Errorf("the sum of topics is %x, their records give %x", r.sum.Bytes(), other.sum.Bytes())
	}
	if have, want := [3]int64{int64(r.topics.Len()), int64(r.fifo), r.bytes},
		[3]int64{int64(other.topics.Len()), int64(other.fifo), other.bytes}; have != want {
		return fmt.Errorf("topics, FIFO topics and their bytes are %v, the records give %v", have, want)
	}
	if have, want := r.Deadline(), other.Deadline(); have != want || r.deadlines.Len() != other.deadlines.Len() {
		return fmt.Errorf("%d topics have deadlines, the first at %d; the records give %d, %d", r.deadlines.Len(), have,
			other.deadlines.Len(), want)
	}
	if have, want := r.due.Items(), other.due.Items(); !slices.Equal(have, want) {
		return fmt.Errorf("publications are due at %v, the records give %v", have, want)
	}
	if have, want := r.idle.Items(), other.idle.Items(); !slices.Equal(have, want) {
		return fmt.Errorf("topics are idle at %v, the records give %v", have, want)
	}
	if have, want := r.Replays(), other.Replays(); !slices.Equal(have, want) {
		return fmt.Errorf("replays run for the subscriptions %v, the records give %v", have, want)
	}
	if have, want := r.pending.Items(), other.pending.Items(); !slices.Equal(have, want) {
		return fmt.Errorf("subscriptions wait to be confirmed until %v, the records give %v", have, want)
	}
	if have, want := r.owned.Items(), other.owned.Items(); !slices.Equal(have, want) {
		return fmt.Errorf("the accounts own the subscriptions %v, the records give %v", have, want)
	}
	if len(r.changed) > 0 {
		return fmt.Errorf("%d changed topics were not finished", len(r.changed))
	}
	var err error
	r.Scan(func(t *Topic) bool {
		err = t.compare(other)
		return err == nil
	})
	if err == nil && r.subscriptions.Len() != other.subscriptions.Len() {
		err = fmt.Errorf("%d subscriptions, the records give %d", r.subscriptions.Len(), other.subscriptions.Len())
	}
	return err
}

func (t *Topic) compare(other *Registry) error {
	twin, ok := other.topics.Get(t.Name)
	if !ok {
		return fmt.Errorf("topic %q has no record", t.Name)
	}
	if have, want := t.Deduplication.Rules(), t.Attributes.Deduplication; have != want {
		return fmt.Errorf("topic %q: deduplication follows %+v, the attributes are %+v", t.Name, have, want)
	}
	if t.archive.bytes != twin.archive.bytes {
		return fmt.Errorf("topic %q: the archive has %d bytes, the records give %d", t.Name, t.archive.bytes, twin.archive.bytes)
	}
	if have, want := t.schedule.byTime.Items(), twin.schedule.byTime.Items(); !slices.Equal(have, want) ||
		t.schedule.bytes != twin.schedule.bytes {
		return fmt.Errorf("topic %q: scheduled are %v of %d bytes, the records give %v of %d", t.Name, have, t.schedule.bytes, want,
			twin.schedule.bytes)
	}
	if t.Deduplication.ByScope() != twin.Deduplication.ByScope() || t.deadline != twin.deadline {
		return fmt.Errorf("topic %q: records per scope %v and the deadline %d, the records give %v and %d",
			t.Name, t.Deduplication.ByScope(), t.deadline, twin.Deduplication.ByScope(), twin.deadline)
	}
	var err error
	t.ScanSubscriptions(func(s *Subscription) bool {
		name, _ := other.subscriptions.Get(s.Number)
		same, found := twin.SubscriptionOf(s.key())
		own, _ := t.SubscriptionOf(s.key())
		if byID, _ := t.Subscription(s.ID.String()); byID != s || own != s || name != t.Name || !found || same.Number != s.Number {
			err = fmt.Errorf("topic %q: subscription %d of %q is missing in an index", t.Name, s.Number, s.key())
		}
		return err == nil
	})
	if err == nil && t.rules != twin.rules {
		err = fmt.Errorf("topic %q: %d rules, the records give %d", t.Name, t.rules, twin.rules)
	}
	if err == nil && (t.byEndpoint.Len() != t.subscriptions.Len() || t.byID.Len() != t.subscriptions.Len()) {
		err = fmt.Errorf("topic %q: %d endpoints and %d ids have %d subscriptions", t.Name, t.byEndpoint.Len(), t.byID.Len(),
			t.subscriptions.Len())
	}
	return err
}
