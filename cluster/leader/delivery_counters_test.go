package leader

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Pairs beyond the bound share one count; the others keep theirs.
func TestDeliveryCounters(t *testing.T) {
	var d DeliveryCounters
	for i := range deliverySeriesMax + 2 {
		d.add("t", fmt.Sprintf("%04d", i), 1, 1)
	}
	d.add("t", "0000", 2, 5)
	counts, sum := map[string]uint64{}, uint64(0)
	last := ""
	d.Read(func(topic, queue string, count uint64, at time.Duration) {
		if want := map[bool]time.Duration{true: 5, false: 1}[queue == "0000"]; at != want {
			t.Errorf("%s %s at %v, want %v", topic, queue, at, want)
		}
		if topic+queue < last {
			t.Errorf("%s %s after %s", topic, queue, last)
		}
		last = topic + queue
		counts[topic+queue] = count
		sum += count
	})
	if diff := cmp.Diff([]uint64{deliverySeriesMax + 1, 3, 1, 2, deliverySeriesMax + 4},
		[]uint64{uint64(len(counts)), counts["t0000"], counts["t0999"], counts[""], sum}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
