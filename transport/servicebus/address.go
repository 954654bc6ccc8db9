package servicebus

import (
	"strings"

	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/servicebus/entity"
)

// Suffixes of paths, in any letter case.
const (
	suffixManagement = "/$management"
	suffixDeadLetter = "/$deadletterqueue"
	suffixTransfer   = "/$transfer" // before suffixDeadLetter
	tokenNode        = "$cbs"
)

// address is the node of a link.
type address struct {
	path       string // of the entity, as sent, empty for $cbs
	tokens     bool   // $cbs
	management bool
	deadLetter bool // the dead-letter queue of path
	transfer   bool // the transfer dead-letter queue, if deadLetter is set
}

// readAddress reads an address, which may be a URI.
func readAddress(v wire.Value) (a address, ok bool) {
	text := textOf(v)
	if _, rest, uri := strings.Cut(text, "://"); uri {
		_, text, _ = strings.Cut(rest, "/")
	}
	text = strings.Clone(strings.Trim(text, "/"))
	if strings.EqualFold(text, tokenNode) {
		return address{tokens: true}, true
	}
	text, a.management = cutSuffix(text, suffixManagement)
	if text, a.deadLetter = cutSuffix(text, suffixDeadLetter); a.deadLetter {
		text, a.transfer = cutSuffix(text, suffixTransfer)
	}
	a.path = text
	return a, text != ""
}

// cutSuffix is strings.CutSuffix in any letter case.
func cutSuffix(text, suffix string) (before string, found bool) {
	at := len(text) - len(suffix)
	if at < 0 || !strings.EqualFold(text[at:], suffix) {
		return text, false
	}
	return text[:at], true
}

// key identifies the node in any spelling.
func (a *address) key() string {
	key := strings.ToLower(a.path)
	switch {
	case a.tokens:
		return tokenNode
	case a.transfer:
		key += suffixTransfer + suffixDeadLetter
	case a.deadLetter:
		key += suffixDeadLetter
	}
	if a.management {
		key += suffixManagement
	}
	return key
}

// subscription reports whether the path is that of a subscription.
func (a *address) subscription() bool {
	_, _, is := entity.SplitSubscription(a.path)
	return is
}

// claimed returns the path that a token must cover.
func (a *address) claimed() string { return a.key() }
