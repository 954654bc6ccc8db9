package backlog

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

// Message is one that a receive delivered.
type Message struct{ Group, Body, ID, Sequence string }

// Account tracks the messages of a queue with a few numbers for each group. Messages of a group
// are numbered from 0. Safe for concurrent use.
type Account struct {
	size int // of a body

	mu       sync.Mutex
	groups   []group
	problems []string
	more     int // problems beyond problemsMax
	again    int // deliveries after a first one that was not known to be deleted
}

// group is the account of one group.
type group struct {
	tried    int    // messages that were sent, whatever the result
	acked    int    // of these acknowledged
	received int    // the number of the next message
	missing  []int  // messages before it that were not received, in ascending order
	deleted  []span // in ascending order, with gaps between them
	sequence string // of the last received message
	// balance is the sum of hashes over the ids and sequence numbers of acknowledged messages,
	// minus those of received messages.
	balance uint64
}

// span is a range of numbers, without its end.
type span struct{ from, to int }

// problemsMax bounds the problems that are kept: one cause makes many.
const problemsMax = 20

// NewAccount returns an empty account for groups groups and bodies of size bytes.
func NewAccount(groups, size int) *Account {
	return &Account{size: size, groups: make([]group, groups)}
}

func groupName(group int) string { return "parked-" + strconv.Itoa(group) }

// body returns the body of a message. It contains group and number, from which all its bytes
// follow.
func (a *Account) body(group, number int) string {
	head := fmt.Sprintf("%s:%d ", groupName(group), number)
	text := make([]byte, 0, a.size+len(head)+8)
	text = append(text, head...)
	for sum := crc32.ChecksumIEEE(text); len(text) < a.size; sum = sum*1664525 + 1013904223 {
		text = hex.AppendEncode(text, binary.BigEndian.AppendUint32(nil, sum))
	}
	return string(text[:max(a.size, len(head))])
}

// parse is the reverse of body, for what a body says of itself.
func parse(body string) (group, number int, ok bool) {
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
func (a *Account) next(group, most int) (from, to int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	g := &a.groups[group]
	g.tried = max(g.tried, g.acked+most)
	return g.acked, g.acked + most
}

// acknowledged records the id and sequence number of an acknowledged message. The messages of a
// group are acknowledged in order.
func (a *Account) acknowledged(group, number int, id, sequence string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	g := &a.groups[group]
	if number != g.acked {
		a.problem("%s:%d was acknowledged after %d others", groupName(group), number, g.acked)
	}
	g.acked = number + 1
	g.balance += identity(number, id, sequence)
}

// identity is a hash over what identifies a message.
func identity(number int, id, sequence string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %s", number, id, sequence)
	return h.Sum64()
}

// received judges the messages of an answer, in their order.
func (a *Account) received(messages []Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range messages {
		a.receivedOne(m)
	}
}

func (a *Account) receivedOne(m Message) {
	n, number, ok := parse(m.Body)
	switch {
	case !ok || n >= len(a.groups) || number >= a.groups[n].tried:
		a.problem("never sent: %.80q of group %s", m.Body, m.Group)
		return
	case m.Group != groupName(n):
		a.problem("%s:%d came in group %s", groupName(n), number, m.Group)
		return
	case m.Body != a.body(n, number):
		a.problem("%s:%d came with another body than it was sent with, %d bytes long", groupName(n), number, len(m.Body))
	}
	g := &a.groups[n]
	switch {
	case number >= g.received:
		if number > g.received {
			a.problem("%s:%d came before %d", groupName(n), number, g.received)
		}
		for ; g.received < number; g.received++ {
			g.missing = append(g.missing, g.received)
		}
		g.received++
		if m.Sequence <= g.sequence {
			a.problem("%s:%d has sequence number %s, the one before it %s", groupName(n), number, m.Sequence, g.sequence)
		}
		g.sequence = m.Sequence
		g.balance -= identity(number, m.ID, m.Sequence)
	case slices.Contains(g.missing, number):
		g.missing = slices.DeleteFunc(g.missing, func(missing int) bool { return missing == number })
		a.problem("%s:%d came after a later one of its group", groupName(n), number)
		g.balance -= identity(number, m.ID, m.Sequence)
	case g.isDeleted(number):
		a.problem("%s:%d came again after it was deleted", groupName(n), number)
	default:
		a.again++
	}
}

// wasDeleted records that a message was deleted.
func (a *Account) wasDeleted(body string) {
	n, number, ok := parse(body)
	a.mu.Lock()
	defer a.mu.Unlock()
	if !ok || n >= len(a.groups) || a.groups[n].isDeleted(number) {
		return
	}
	g := &a.groups[n]
	at, _ := slices.BinarySearchFunc(g.deleted, number, func(s span, number int) int { return s.from - number })
	g.deleted = slices.Insert(g.deleted, at, span{number, number + 1})
	if at+1 < len(g.deleted) && g.deleted[at+1].from == number+1 {
		g.deleted[at].to = g.deleted[at+1].to
		g.deleted = slices.Delete(g.deleted, at+1, at+2)
	}
	if at > 0 && g.deleted[at-1].to == number {
		g.deleted[at-1].to = g.deleted[at].to
		g.deleted = slices.Delete(g.deleted, at, at+1)
	}
}

func (g *group) isDeleted(number int) bool {
	return slices.ContainsFunc(g.deleted, func(s span) bool { return s.from <= number && number < s.to })
}

// totals returns the numbers of acknowledged and deleted messages.
func (a *Account) totals() (acked, deleted int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.groups {
		acked += a.groups[i].acked
		for _, s := range a.groups[i].deleted {
			deleted += s.to - s.from
		}
	}
	return acked, deleted
}

// counted compares a node's counters of the queue with the account.
func (a *Account) counted(node string, holds int) {
	if acked, deleted := a.totals(); holds != acked-deleted {
		a.Complain("%s counts %d messages, %d were acknowledged and %d deleted", node, holds, acked, deleted)
	}
}

// Complain records a problem.
func (a *Account) Complain(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.problem(format, args...)
}

func (a *Account) problem(format string, args ...any) {
	if len(a.problems) == problemsMax {
		a.more++
		return
	}
	a.problems = append(a.problems, fmt.Sprintf(format, args...))
}

// close records the messages that were not received although the queue is empty.
func (a *Account) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.groups {
		g := &a.groups[i]
		lost := max(0, g.acked-g.received)
		for _, number := range g.missing {
			if number < g.acked {
				lost++
			}
		}
		switch {
		case lost > 0:
			a.problem("%s: %d of %d acknowledged messages never came", groupName(i), lost, g.acked)
		case g.received == g.acked && g.balance != 0:
			a.problem("%s: messages came with other ids or sequence numbers than they were acknowledged with", groupName(i))
		}
	}
}

// Problems returns sentences about everything that is wrong.
func (a *Account) Problems() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	problems := slices.Clone(a.problems)
	if a.more > 0 {
		problems = append(problems, fmt.Sprintf("and %d more", a.more))
	}
	return problems
}

// Counts returns the numbers of acknowledged, received and deleted messages, by name.
func (a *Account) Counts() map[string]int {
	acked, deleted := a.totals()
	a.mu.Lock()
	defer a.mu.Unlock()
	return map[string]int{"backlog: messages acknowledged": acked, "backlog: messages received and deleted": deleted,
		"backlog: messages received again": a.again}
}
