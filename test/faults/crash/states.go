package crash

import (
	"math/rand/v2"
	"slices"
)

// drive is a file system that can lose power: its durable content, and the later events that were
// not synced, in order.
type drive struct {
	durable *image
	pending []event
}

func newDrive() *drive { return &drive{durable: newImage()} }

// do adds an event. A sync makes the pending events of its file or directory durable.
func (d *drive) do(e event) {
	if e.kind != kindSync {
		d.pending = append(d.pending, e)
		return
	}
	d.pending = slices.DeleteFunc(d.pending, func(p event) bool {
		synced := p.inode == e.inode || p.kind == kindRename && p.newDir == e.inode
		if synced {
			d.durable.apply(p)
		}
		return synced
	})
}

// with returns the image that a power cut leaves if exactly kept survives of the pending events.
func (d *drive) with(kept []event) *image {
	m := d.durable.clone()
	for _, e := range kept {
		m.apply(e)
	}
	return m
}

// variant is a choice of what a power cut keeps of what was not synced.
type variant struct {
	name string
	// keep chooses the events that survive; nil means that the variant equals another one here.
	keep func(pending []event, random *rand.Rand) []event
}

// Sizes of the smallest pieces that a disk writes as a whole.
const (
	sector = 512
	page   = 4096
)

var variants = []variant{
	{"nothing", func([]event, *rand.Rand) []event { return []event{} }},
	{"all", func(p []event, _ *rand.Rand) []event { return p }},
	{"only the last", func(p []event, _ *rand.Rand) []event { return p[max(0, len(p)-1):] }},
	{"half", func(p []event, random *rand.Rand) []event {
		return slices.DeleteFunc(slices.Clone(p), func(event) bool { return random.IntN(2) == 0 })
	}},
	{"last torn at a sector", torn(sector)},
	{"last torn at a page", torn(page)},
	{"no names", func(p []event, _ *rand.Rand) []event {
		return slices.DeleteFunc(slices.Clone(p), func(e event) bool { return !e.content() })
	}},
	{"only names", func(p []event, _ *rand.Rand) []event {
		return slices.DeleteFunc(slices.Clone(p), event.content)
	}},
}

// torn keeps all events, but only the beginning of the last write.
func torn(size int) func([]event, *rand.Rand) []event {
	return func(p []event, _ *rand.Rand) []event {
		for i, e := range slices.Backward(p) {
			if e.kind != kindWrite {
				continue
			}
			if len(e.data) <= size {
				return nil
			}
			kept := slices.Clone(p)
			kept[i].data = e.data[:size]
			return kept
		}
		return nil
	}
}

// state is one directory that a power cut may leave.
type state struct {
	at      int // position in the journal: the next sync, which did not finish
	variant string
	image   *image
	lost    []event // events that were neither synced nor kept
}

// states calls use with every state that a power cut may leave: for each sync, the state after it
// with each variant of the events before the next sync.
func states(events []event, seed uint64, use func(state) error) error {
	d := newDrive()
	synced := false
	for at, e := range events {
		if e.kind == kindSync && synced {
			random := rand.New(rand.NewPCG(seed, uint64(at)))
			for _, v := range variants {
				kept := v.keep(d.pending, random)
				if kept == nil {
					continue
				}
				if err := use(state{at: at, variant: v.name, image: d.with(kept), lost: without(d.pending, kept)}); err != nil {
					return err
				}
			}
		}
		d.do(e)
		synced = synced || e.kind == kindSync
	}
	return nil
}

// without returns the events that were not kept. Both lists are in order, and a torn write counts
// as kept.
func without(pending, kept []event) []event {
	var lost []event
	for _, e := range pending {
		if len(kept) > 0 && same(e, kept[0]) {
			kept = kept[1:]
		} else {
			lost = append(lost, e)
		}
	}
	return lost
}

func same(a, b event) bool {
	return a.kind == b.kind && a.inode == b.inode && a.offset == b.offset && a.size == b.size && a.name == b.name && a.target == b.target
}
