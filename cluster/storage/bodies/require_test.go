package bodies

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/storage"
)

// A command that needs a body waits until a transient error has passed, but not for another node.
func TestRequiredBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, sent, notified := withDamage(t)
		path := n.store.path(sent[0].Place().Segment)
		clustertest.Must(t, os.Rename(path, path+".away"))
		required := make(chan error, 1)
		go func() {
			read, err := n.state.Require(sent[0])
			if err == nil && read.String() != text(1, 1000) {
				err = errors.New("another text")
			}
			required <- err
		}()
		synctest.Wait() // the file was not found, and require waits
		clustertest.Must(t, os.Rename(path+".away", path))
		clustertest.Check(t, <-required)
		_, err := n.state.Require(sent[1])
		if !errors.Is(err, storage.ErrDamaged) || errors.As(err, new(*BeingHealed)) || !strings.Contains(err.Error(), path) {
			t.Errorf("of a damaged body: %v", err)
		}
		if code, _ := storage.Unreadable(err); code != fault.ExitChecksum || *notified > 0 || len(n.fatal) > 0 {
			t.Errorf("exit code %d, %d times it was said, the store ended the node: %v", code, *notified, n.fatal)
		}
		go func() { required <- n.store.Heal(sent[1], text(2, 1000)) }() // begun before
		if _, err := n.state.Require(sent[1]); err != nil {
			t.Errorf("of a body that is written anew: %v", err)
		}
		clustertest.Check(t, <-required)
	})
}
