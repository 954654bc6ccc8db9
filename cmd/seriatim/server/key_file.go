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

// keyFile watches the key file of a node. It checks the file at intervals, because the status of
// an idle node must be right, too.
type keyFile struct {
	file *files.Watched[*encryption.Keyring]
	node *cluster.Node
	log  *slog.Logger
	name string

	seen    *encryption.Keyring // the last one that was offered to the node
	refused string              // the error of the node, empty if it accepted
}

// followKeyFile replaces the keys of a node whenever the file changes, until end is called.
func followKeyFile(ctx context.Context, name string, node *cluster.Node, log *slog.Logger) (end func(), err error) {
	file, err := files.Watch([]string{name}, func() (*encryption.Keyring, error) { return encryption.ReadKeyFile(name, rand.Reader) },
		time.Now, log)
	if err != nil {
		return nil, errors.Join(errors.New("encryption-key-file"), err)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f := &keyFile{file: file, node: node, log: log, name: name}
		tick := time.NewTicker(files.CheckInterval)
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

// offer replaces the keys of the node. It repeats keys that the node refuses, because the node
// may stop needing the missing key.
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
		f.log.Error("the node refuses the changed key file and keeps the former keys", "file", f.name, "error", text)
	}
	f.seen, f.refused = keys, text
}
