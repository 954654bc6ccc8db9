package topic

import (
	"github.com/seriatimq/seriatim/queue/content"
	"github.com/seriatimq/seriatim/queue/notification"
	"github.com/seriatimq/seriatim/queue/statehash"
)

// Publication is one accepted publish, shared by all messages that it was delivered as.
type Publication struct {
	content *notification.Notification
	hash    uint64
	ledger  *Ledger
	held    int64 // references, counted by the applying goroutine only
}

// NewPublication holds a notification, which must not change any more. It costs
// nothing in the ledger until something refers to it.
func NewPublication(k statehash.Key, content *notification.Notification, ledger *Ledger) *Publication {
	return &Publication{content: content, hash: contentHash(k, content), ledger: ledger}
}

// Content is what was published. It never changes.
func (p *Publication) Content() *notification.Notification { return p.content }

// Hash covers the content; the hash of every message that refers to it covers this.
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
	if n.TraceHeader != "" {
		r = r.Text(n.TraceHeader)
	}
	return k.Hash(r)
}

// Hold counts a message, or an archive, that refers to the publication.
func (p *Publication) Hold() {
	if p.held == 0 {
		p.ledger.bytes += p.Size()
	}
	p.held++
}

// Release takes back one Hold.
func (p *Publication) Release() {
	p.held--
	if p.held == 0 {
		p.ledger.bytes -= p.Size()
	}
}

// Held is how many messages and archives refer to the publication.
func (p *Publication) Held() int64 { return p.held }

// SentBytes is what the publisher sent, message and attributes, as quotas count it.
func (p *Publication) SentBytes() int64 {
	return int64(p.content.Message.Len()) + content.Size("", p.content.Attributes)
}

const (
	publicationOverhead = 256 // the structures of a publication, with room to spare
	attributeOverhead   = 48
)

// Size estimates the memory of a publication, which its ledger counts while it is held.
func (p *Publication) Size() int64 {
	n := p.content
	bytes := publicationOverhead + n.Message.Len() + len(n.Subject) + len(n.SenderID) + len(n.Endpoint) + len(n.GroupID) + len(n.DeduplicationID) + len(n.TraceHeader)
	for i := range n.Attributes {
		a := &n.Attributes[i]
		bytes += attributeOverhead + len(a.Name) + len(a.DataType) + len(a.Value)
	}
	return int64(bytes)
}

// Ledger counts the estimated bytes of the publications that are held. Like all sizes it
// is no part of the state.
type Ledger struct{ bytes int64 }

// Bytes are those of all publications that are held.
func (l *Ledger) Bytes() int64 { return l.bytes }
