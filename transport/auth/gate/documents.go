package gate

import (
	"sync"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/transport/auth/iam"
)

// documents keeps policies that were read. Safe for concurrent use.
type documents struct {
	mu     sync.RWMutex
	byText map[string]*iam.Document
	bytes  int
}

// documentsBytesMax bounds the text of the policies that are kept.
const documentsBytesMax = 4 << 20

// user is the policy of a user, nil if there is none.
func (d *documents) user(table *access.Table, u access.User) *iam.Document {
	if u.Name == "" {
		return nil
	}
	return d.read(table.Policy(u))
}

// read is the policy of a text, nil for none. One that cannot be read forbids
// everything: it was stored by a program that read it otherwise.
func (d *documents) read(text string) *iam.Document {
	if text == "" {
		return nil
	}
	d.mu.RLock()
	known := d.byText[text]
	d.mu.RUnlock()
	if known != nil {
		return known
	}
	document, err := iam.Parse(text)
	if err != nil {
		document = forbidding
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byText == nil || d.bytes+len(text) > documentsBytesMax {
		d.byText, d.bytes = map[string]*iam.Document{}, 0
	}
	if d.byText[text] == nil {
		d.byText[text] = document
		d.bytes += len(text)
	}
	return document
}

// forbidding denies everything to everybody.
var forbidding = func() *iam.Document {
	d, err := iam.Parse(`{"Version":"2012-10-17","Statement":{"Effect":"Deny","Principal":"*","Action":"*","Resource":"*"}}`)
	if err != nil {
		panic(err) // the text above is wrong
	}
	return d
}()
