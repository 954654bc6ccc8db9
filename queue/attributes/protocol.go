package attributes

import (
	"strings"

	"github.com/seriatimq/seriatim/queue/limits"
	"github.com/seriatimq/seriatim/queue/message"
)

// Protocol is the protocol of deliveries to a subscription.
type Protocol uint8

// Protocols; the numbers are stored in the log and in snapshots.
const (
	ProtocolQueue Protocol = 0
	ProtocolHTTP  Protocol = 1
	ProtocolHTTPS Protocol = 2
)

var protocols = words{ProtocolQueue: {"sqs", 1}, ProtocolHTTP: {"http", 1}, ProtocolHTTPS: {"https", 1}}

// String returns the name of the protocol in SNS.
func (p Protocol) String() string {
	if !p.Known() {
		return ""
	}
	return protocols[p].text
}

// Known reports whether the protocol exists.
func (p Protocol) Known() bool { return int(p) < len(protocols) }

// Since returns the format version that introduced the protocol.
func (p Protocol) Since() uint32 {
	if !p.Known() {
		return 0
	}
	return protocols[p].since
}

// Web reports whether messages are posted to a URL.
func (p Protocol) Web() bool { return p != ProtocolQueue }

// ParseProtocol returns the protocol with a name in SNS.
func ParseProtocol(name string) (Protocol, bool) {
	i := protocols.index(name)
	return Protocol(max(i, 0)), i >= 0
}

// IsEndpoint reports whether text can be the URL of a subscriber with a web protocol: it has the
// scheme of the protocol, a host, and only characters that a URL can have. The address of the host
// is checked when a node connects.
func (p Protocol) IsEndpoint(text string) bool {
	if !p.Web() || len(text) > limits.EndpointLengthMax || message.BadCharacter(text) {
		return false
	}
	host, ok := strings.CutPrefix(OriginOf(text), p.String()+"://")
	return ok && host != "" && host[0] != ':' && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

// OriginOf returns scheme and host of such a URL. The other parts may contain names, passwords and
// queries.
func OriginOf(endpoint string) string {
	scheme, rest, ok := strings.Cut(endpoint, "://")
	if !ok {
		return endpoint
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = rest[at+1:]
	}
	return scheme + "://" + rest
}
