package amqp

import "sort"

// unsettled holds the messages of a session whose outcome is open, in the order of their delivery
// ids. Ids are serial numbers, which begin again at zero. Removed messages leave holes, which are
// removed when they are more than the messages.
type unsettled struct {
	items []entry
	first int // items before it are holes
	holes int // from first on
}

type entry struct {
	id   uint32
	sent *Sent // nil: a hole
}

// holesMin keeps short lists from being moved often.
const holesMin = 32

// add appends a message, which has the largest id.
func (u *unsettled) add(d *Sent) {
	if len(u.items) == cap(u.items) && u.first+u.holes >= len(u.items)/2 {
		u.compact()
	}
	u.items = append(u.items, entry{id: d.id, sent: d})
}

// compact removes the holes.
func (u *unsettled) compact() {
	kept := u.items[:0]
	for _, e := range u.items[u.first:] {
		if e.sent != nil {
			kept = append(kept, e)
		}
	}
	clear(u.items[len(kept):])
	u.items, u.first, u.holes = kept, 0, 0
}

// find returns the place of the first item whose id is not before this one.
func (u *unsettled) find(id uint32) int {
	if u.first == len(u.items) {
		return u.first
	}
	base := u.items[u.first].id
	if int32(id-base) <= 0 { //nolint:gosec // serial numbers
		return u.first
	}
	return u.first + sort.Search(len(u.items)-u.first, func(i int) bool { return u.items[u.first+i].id-base >= id-base })
}

// each calls a function with the messages from one id to another. It may remove them.
func (u *unsettled) each(first, last uint32, f func(*Sent)) {
	if u.first == len(u.items) || int32(last-first) < 0 { //nolint:gosec // serial numbers
		return
	}
	for i := u.find(first); i < len(u.items) && int32(last-u.items[i].id) >= 0; i++ { //nolint:gosec // serial numbers
		if d := u.items[i].sent; d != nil {
			f(d)
		}
	}
	u.trim()
}

// remove removes a message. The holes stay until trim.
func (u *unsettled) remove(d *Sent) {
	if i := u.find(d.id); i < len(u.items) && u.items[i].sent == d {
		u.items[i].sent = nil
		u.holes++
	}
}

// trim removes holes at the beginning, and others if there are many.
func (u *unsettled) trim() {
	for u.first < len(u.items) && u.items[u.first].sent == nil {
		u.first++
		u.holes--
	}
	if u.first == len(u.items) {
		u.items, u.first, u.holes = u.items[:0], 0, 0
	} else if u.holes > max(holesMin, (len(u.items)-u.first)/2) {
		u.compact()
	}
}

// removeAll removes the messages of a link, and returns their number.
func (u *unsettled) removeAll(s *Sender) (n int) {
	for i, e := range u.items[u.first:] {
		if e.sent != nil && e.sent.sender == s {
			e.sent.forgotten = true
			u.items[u.first+i].sent = nil
			u.holes++
			n++
		}
	}
	u.trim()
	return n
}
