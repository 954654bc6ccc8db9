package faults

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// parkedMessage is a received message.
type parkedMessage struct{ group, body, id, sequence string }

// account tracks parked messages. A body follows from its group and number, and a group is sent in
// order, with numbers from 0. So millions of messages need only some numbers for each group, where
// a history would not fit in memory. Safe for concurrent use.
type account struct {
	size int // of a body

	mu       sync.Mutex
	groups   []parkedGroup
	problems []string
	more     int // problems beyond problemsMax
	again    int // deliveries after a first one that was not known to be deleted
}

// parkedGroup is the account of one group.
type parkedGroup struct {
	tried    int          // messages that were sent, whatever the result
	acked    int          // of these acknowledged
	received int          // the number of the next message
	deleted  int          // all before it are deleted
	early    map[int]bool // deleted behind it
	sequence string       // of the last received message
	// balance is the sum of hashes over the ids and sequence numbers of acknowledged messages,
	// minus those of received messages.
	balance uint64
}

// problemsMax bounds the kept problems, as one cause makes many.
const problemsMax = 20

// newAccount returns an empty account for bodies of size bytes.
func newAccount(groups, size int) *account {
	a := &account{size: size, groups: make([]parkedGroup, groups)}
	for i := range a.groups {
		a.groups[i].early = map[int]bool{}
	}
	return a
}

func groupName(group int) string { return "parked-" + strconv.Itoa(group) }

// body returns the body of a message. It contains group and number, from which all its bytes
// follow.
func (a *account) body(group, number int) string {
	head := fmt.Sprintf("%s:%d ", groupName(group), number)
	text := make([]byte, 0, a.size+len(head)+8)
	text = append(text, head...)
	for sum := crc32.ChecksumIEEE(text); len(text) < a.size; sum = sum*1664525 + 1013904223 {
		text = hex.AppendEncode(text, binary.BigEndian.AppendUint32(nil, sum))
	}
	return string(text[:max(a.size, len(head))])
}

// parseParked returns the group and the number that a body contains.
func parseParked(body string) (group, number int, ok bool) {
	head, _, _ := strings.Cut(body, " ")
	name, count, _ := strings.Cut(head, ":")
	digits, parked := strings.CutPrefix(name, "parked-")
	group, err := strconv.Atoi(digits)
	if err != nil || !parked {
		return 0, 0, false
	}
	number, err = strconv.Atoi(count)
	return group, number, err == nil
}

// next returns the numbers of a group to be sent next, at most most. Messages with unknown outcome
// are sent again.
func (a *account) next(group, most int) (from, to int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	g := &a.groups[group]
	g.tried = max(g.tried, g.acked+most)
	return g.acked, g.acked + most
}

// acknowledged records the id and sequence number of an acknowledged message. The messages of a
// group are acknowledged in order.
func (a *account) acknowledged(group, number int, id, sequence string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	g := &a.groups[group]
	if number != g.acked {
		a.problem("%s:%d was acknowledged after %d others", groupName(group), number, g.acked)
	}
	g.acked = number + 1
	g.balance += identity(number, id, sequence)
}

// identity returns a hash over what identifies a message.
func identity(number int, id, sequence string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %s", number, id, sequence)
	return h.Sum64()
}

// received checks a received message.
func (a *account) received(m parkedMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, number, ok := parseParked(m.body)
	switch {
	case !ok || n >= len(a.groups) || number >= a.groups[n].tried:
		a.problem("never sent: %.80q of group %s", m.body, m.group)
		return
	case m.group != groupName(n):
		a.problem("%s:%d came in group %s", groupName(n), number, m.group)
		return
	case m.body != a.body(n, number):
		a.problem("%s:%d came with another body than it was sent with, %d bytes long", groupName(n), number, len(m.body))
	}
	g := &a.groups[n]
	switch {
	case number > g.received:
		a.problem("%s:%d came before %d", groupName(n), number, g.received)
		g.received = number + 1
	case number == g.received:
		g.received++
		if m.sequence <= g.sequence {
			a.problem("%s:%d has sequence number %s, the one before it %s", groupName(n), number, m.sequence, g.sequence)
		}
		g.sequence = m.sequence
		g.balance -= identity(number, m.id, m.sequence)
	case number < g.deleted || g.early[number]:
		a.problem("%s:%d came again after it was deleted", groupName(n), number)
	default:
		a.again++
	}
}

// wasDeleted records that a message was deleted.
func (a *account) wasDeleted(body string) {
	n, number, ok := parseParked(body)
	a.mu.Lock()
	defer a.mu.Unlock()
	if !ok || n >= len(a.groups) || number < a.groups[n].deleted {
		return
	}
	g := &a.groups[n]
	g.early[number] = true
	for ; g.early[g.deleted]; g.deleted++ {
		delete(g.early, g.deleted)
	}
}

// totals returns the numbers of acknowledged and deleted messages.
func (a *account) totals() (acked, deleted int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.groups {
		acked += a.groups[i].acked
		deleted += a.groups[i].deleted + len(a.groups[i].early)
	}
	return acked, deleted
}

// counted compares a node's counters of the queue with the account.
func (a *account) counted(node string, holds int) {
	if acked, deleted := a.totals(); holds != acked-deleted {
		a.complain("%s counts %d messages, %d were acknowledged and %d deleted", node, holds, acked, deleted)
	}
}

// complain records a problem.
func (a *account) complain(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.problem(format, args...)
}

func (a *account) problem(format string, args ...any) {
	if len(a.problems) == problemsMax {
		a.more++
		return
	}
	a.problems = append(a.problems, fmt.Sprintf(format, args...))
}

// close records the messages that were not received although the queue is empty.
func (a *account) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.groups {
		g := &a.groups[i]
		switch {
		case g.received < g.acked:
			a.problem("%s: %d of %d acknowledged messages never came", groupName(i), g.acked-g.received, g.acked)
		case g.received == g.acked && g.balance != 0 && len(a.problems) == 0:
			a.problem("%s: messages came with other ids or sequence numbers than they were acknowledged with", groupName(i))
		}
	}
}

// all returns sentences about everything that is wrong.
func (a *account) all() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	problems := slices.Clone(a.problems)
	if a.more > 0 {
		problems = append(problems, fmt.Sprintf("and %d more", a.more))
	}
	return problems
}
