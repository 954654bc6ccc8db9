package bodies

import (
	"context"
	"fmt"
	"time"

	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/queue/message"
)

const (
	// requireTries bounds the attempts to read a body that a command needs.
	requireTries = 9
	// requirePause is the first pause between attempts. Each pause doubles: about 2.5 s in total.
	requirePause = 10 * time.Millisecond
)

// require reads a body for a command that is being applied, and retries: the process may be out of
// descriptors, the disk may fail once, the body may be rewritten just now, or the page cache may be
// wrong. Package scrub cannot heal the body meanwhile, because the state cannot be read, and
// waiting for another node could deadlock (see the package comment). After the last attempt the
// node ends, see storage.Unreadable.
func (s *Store) require(body message.Body) (read message.Body, err error) {
	whole := context.WithoutCancel(s.options.Life) // a closing node completes the command
	for try := range requireTries {
		if try > 0 {
			wakeup.Sleep(whole, requirePause<<(try-1))
			s.Uncache([]message.Body{body})
		}
		if read, err = s.look(body); err == nil {
			return read, nil
		}
	}
	return message.Body{}, fmt.Errorf("%s, which a command needs, cannot be read: %w", s.describe(body), err)
}
