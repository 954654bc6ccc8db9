package server

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/storage/encryption"
	"github.com/seriatimq/seriatim/cmd/seriatim/server/files"
)

// keyFile is the key file of a node, which is read again after a change. Nothing asks for the
// keys of a node that does nothing, and its status has to be true all the same: so this is
// looked at all the time.
type keyFile struct {
	file *files.Watched[*encryption.Keyring]
	node *cluster.Node
	log  *slog.Logger
	name string

	seen    *encryption.Keyring // that was offered to the node last
	refused string              // why the node did not take it
}

// followKeyFile begins to give a node the keys of a file whenever the file changes. end ends
// that.
func followKeyFile(ctx context.Context, name string, node *cluster.Node, log *slog.Logger) (end func(), err error) {
	file, err := files.Watch([]string{name}, func() (*encryption.Keyring, error) { return encryption.ReadKeyFile(name, rand.Reader) }, time.Now, log)
	if err != nil {
		return nil, errors.Join(errors.New("encryption-key-file"), err)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f := &keyFile{file: file, node: node, log: log, name: name}
		tick := time.NewTicker(files.LookEvery)
		defer tick.Stop()
		for {
			f.offer()
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}, nil
}

// offer gives the node the keys in the file. Keys that it refuses are offered again, because a
// key that they lack may not be needed any more.
func (f *keyFile) offer() {
	keys := f.file.Current()
	if keys == f.seen && f.refused == "" {
		return
	}
	err := f.node.ReplaceKeys(keys)
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && (text != f.refused || keys != f.seen) {
		f.log.Error("the changed key file is not used, the former keys stay in force", "file", f.name, "error", text)
	}
	f.seen, f.refused = keys, text
}
