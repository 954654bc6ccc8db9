package amqp

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The list of unsettled messages is a map by id in order, also where ids begin again at zero.
func TestUnsettled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var u unsettled
		links := []*Sender{{}, {}}
		next := rapid.SampledFrom([]uint32{0, 1<<32 - 50, 1<<31 - 50}).Draw(t, "first")
		var model []*Sent
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0, 1, 2, 3, 4:
				d := &Sent{id: next, sender: rapid.SampledFrom(links).Draw(t, "link")}
				next++
				u.add(d)
				model = append(model, d)
			case 5, 6, 7:
				first := next - rapid.Uint32Range(0, 60).Draw(t, "back")
				last := first + rapid.Uint32Range(0, 20).Draw(t, "more")
				var got, want []*Sent
				u.each(first, last, func(d *Sent) { got = append(got, d); u.remove(d) })
				model = slices.DeleteFunc(model, func(d *Sent) bool {
					in := d.id-first <= last-first
					if in {
						want = append(want, d)
					}
					return in
				})
				if !slices.Equal(got, want) {
					t.Fatalf("%d messages from %d to %d, want %d", len(got), first, last, len(want))
				}
			case 8:
				if len(model) > 0 {
					i := rapid.IntRange(0, len(model)-1).Draw(t, "one")
					u.remove(model[i])
					u.trim()
					model = slices.Delete(model, i, i+1)
				}
			case 9:
				link := rapid.SampledFrom(links).Draw(t, "link")
				of := func(d *Sent) bool { return d.sender == link }
				before := len(model)
				model = slices.DeleteFunc(model, of)
				if n := u.removeAll(link); n != before-len(model) {
					t.Fatalf("removed %d, want %d", n, before-len(model))
				}
			}
			var all []*Sent
			for _, e := range u.items[u.first:] {
				if e.sent != nil {
					all = append(all, e.sent)
				}
			}
			if holes := len(u.items) - u.first - len(all); !slices.Equal(all, model) || u.holes != holes {
				t.Fatalf("%d messages and %d holes, want %d and %d", len(all), u.holes, len(model), holes)
			}
		}
	})
}

// A queue is a list.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue[int]
		var model []int
		for n := range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch step := rapid.IntRange(0, 5).Draw(t, "step"); {
			case step < 3:
				q.push(n)
				model = append(model, n)
			case step < 5 && len(model) > 0:
				if q.peek() != model[0] || q.pop() != model[0] {
					t.Fatal("another item is the first")
				}
				model = model[1:]
			default:
				odd := func(n int) bool { return n%2 == 1 }
				q.remove(odd)
				model = slices.DeleteFunc(model, odd)
			}
			if q.len() != len(model) {
				t.Fatalf("%d items, want %d", q.len(), len(model))
			}
		}
	})
}
