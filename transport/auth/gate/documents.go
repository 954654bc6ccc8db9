package gate

import (
	"sync"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/transport/auth/iam"
)

// documents caches parsed policies. Safe for concurrent use.
type documents struct {
	mu    sync.RWMutex
	known map[stored]*iam.Document
	bytes int
}

// stored is the key of a parsed policy.
type stored struct {
	kind iam.Kind
	text string
}

// documentsBytesMax bounds the text of the cached policies.
const documentsBytesMax = 4 << 20

// user returns the policy of a user, nil if there is none.
func (d *documents) user(table *access.Table, u access.User) *iam.Document {
	if u.Name == "" {
		return nil
	}
	return d.read(iam.UserPolicy, table.Policy(u))
}

// read returns the parsed policy, nil for an empty text.
func (d *documents) read(kind iam.Kind, text string) *iam.Document {
	if text == "" {
		return nil
	}
	s := stored{kind, text}
	d.mu.RLock()
	known := d.known[s]
	d.mu.RUnlock()
	if known != nil {
		return known
	}
	document := iam.Stored(kind, text)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil || d.bytes+len(text) > documentsBytesMax {
		d.known, d.bytes = map[stored]*iam.Document{}, 0
	}
	if d.known[s] == nil {
		d.known[s] = document
		d.bytes += len(text)
	}
	return document
}
