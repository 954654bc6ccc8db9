package topic

import (
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/queue/notification"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// Publication is one accepted publish, shared by its messages.
type Publication struct {
	content *notification.Notification
	hash    uint64
	ledger  *Ledger
	held    int64 // references; only the applying goroutine uses it
}

// NewPublication wraps a notification, which must not change. The ledger counts it while it is
// referenced.
func NewPublication(k statehash.Key, content *notification.Notification, ledger *Ledger) *Publication {
	return &Publication{content: content, hash: contentHash(k, content), ledger: ledger}
}

// Content returns the notification. It never changes.
func (p *Publication) Content() *notification.Notification { return p.content }

// Hash returns the hash of the content. The hash of each message covers it.
func (p *Publication) Hash() uint64 { return p.hash }

// ComputeHash computes Hash from scratch.
func (p *Publication) ComputeHash(k statehash.Key) uint64 { return contentHash(k, p.content) }

func contentHash(k statehash.Key, n *notification.Notification) uint64 {
	var buf [512]byte
	r := append(statehash.Record(buf[:0]), statehash.KindPublication)
	r = append(r, n.MessageID[:]...)
	r = r.Num(uint64(n.SequenceNumber)).Text(n.TopicARN).Text(n.Subject)
	r = r.Num(k.HashText(n.Message.String())).Num(uint64(n.Message.Len())).Time(n.Timestamp)
	r = r.Text(n.SenderID).Text(n.Endpoint).Text(n.GroupID).Text(n.DeduplicationID).Num(uint64(len(n.Attributes)))
	for i := range n.Attributes {
		a := &n.Attributes[i]
		r = r.Text(a.Name).Text(a.DataType).Num(k.HashText(a.Value)).Num(uint64(len(a.Value)))
	}
	if n.TraceHeader != "" || n.PartitionKey != "" || n.TimeToLive != 0 {
		r = r.Text(n.TraceHeader).Text(n.PartitionKey).Num(uint64(n.TimeToLive))
	}
	if n.Hops != 0 {
		r = append(r, statehash.KindHops, n.Hops)
	}
	r = n.Encoded.AppendTo(r)
	return k.Hash(r)
}

// Hold adds a reference.
func (p *Publication) Hold() {
	if p.held == 0 {
		p.ledger.bytes += p.Size()
	}
	p.held++
}

// Release removes a reference.
func (p *Publication) Release() {
	p.held--
	if p.held == 0 {
		p.ledger.bytes -= p.Size()
	}
}

// Held returns the number of references.
func (p *Publication) Held() int64 { return p.held }

// SentBytes returns the bytes of message and attributes, as quotas count them.
func (p *Publication) SentBytes() int64 {
	return int64(p.content.Message.Len()) + message.Size("", p.content.Attributes) + p.content.Encoded.Size()
}

const (
	publicationOverhead = 256 // the structures of a publication, rounded up
	attributeOverhead   = 48
)

// Size estimates the memory of a publication.
func (p *Publication) Size() int64 {
	n := p.content
	bytes := publicationOverhead + n.Message.Len() + len(n.Subject) + len(n.SenderID) + len(n.Endpoint) + len(n.GroupID) +
		len(n.DeduplicationID) + len(n.TraceHeader) + len(n.PartitionKey)
	for i := range n.Attributes {
		a := &n.Attributes[i]
		bytes += attributeOverhead + len(a.Name) + len(a.DataType) + len(a.Value)
	}
	return int64(bytes) + n.Encoded.Size()
}

// Ledger counts the estimated bytes of referenced publications. It is not part of the state.
type Ledger struct{ bytes int64 }

// Bytes returns the estimated bytes of all referenced publications.
func (l *Ledger) Bytes() int64 { return l.bytes }
