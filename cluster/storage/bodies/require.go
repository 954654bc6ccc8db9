package bodies

import (
	"context"
	"fmt"
	"time"

	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/queue/content"
)

const (
	// requireTries is how often a body is looked for that a command needs.
	requireTries = 9
	// requirePause is the first pause between two of them; each is twice as long as the
	// one before, which makes two and a half seconds.
	requirePause = 10 * time.Millisecond
)

// require reads a body for a command that is being applied. Nobody can read the state
// meanwhile, so that package scrub cannot heal the body; and the command must not wait for
// another node, which may be waiting in the same way, or has applied the command and does
// not have the message any more. But what is in the way may pass: the process has no
// descriptor left, the disk failed once, the body is just being written anew, or what the
// system keeps of the file is wrong and not the disk. If it does not pass the node has to
// end, with what storage.Unreadable says about the error.
func (s *Store) require(body content.Body) (read content.Body, err error) {
	whole := context.WithoutCancel(s.options.Life) // a node that closes applies what it has begun
	for try := range requireTries {
		if try > 0 {
			wakeup.Sleep(whole, requirePause<<(try-1))
			s.Uncache([]content.Body{body})
		}
		if read, err = s.look(body); err == nil {
			return read, nil
		}
	}
	return content.Body{}, fmt.Errorf("%s, which the command goes by, cannot be read: %w", s.describe(body), err)
}
