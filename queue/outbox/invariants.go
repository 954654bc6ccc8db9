package outbox

import (
	"fmt"
	"slices"
)

// Compare reports how the indexes differ from those of another Outbox, built from the records.
func (o *Outbox) Compare(other *Outbox) error {
	if o.sum != other.sum || o.items != other.items || o.bytes != other.bytes {
		return fmt.Errorf("%d deliveries have %d bytes and the sum %x, their records %d, %d and %x",
			o.items, o.bytes, o.sum.Bytes(), other.items, other.bytes, other.sum.Bytes())
	}
	if have, want := o.lanes.Keys(), other.lanes.Keys(); !slices.Equal(have, want) {
		return fmt.Errorf("the subscriptions %v have deliveries, those of the records are %v", have, want)
	}
	var err error
	o.lanes.Scan(func(subscription uint64, l *lane) bool {
		twin, _ := other.lanes.Get(subscription)
		if have, want := l.due.Items(), twin.due.Items(); l.sum != twin.sum || l.bytes != twin.bytes || l.kept != twin.kept ||
			!slices.Equal(have, want) {
			err = fmt.Errorf("deliveries of subscription %d are due as %v, the records give %v", subscription, have, want)
		}
		return err == nil
	})
	return err
}
