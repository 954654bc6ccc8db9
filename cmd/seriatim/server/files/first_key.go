package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/transport/auth"
)

// FirstKeyOptions say where the key comes from and goes to.
type FirstKeyOptions struct {
	// File holds the key that a new cluster shall begin with. If there is no such file, a key
	// is drawn and written there. It may be a folder with a file for each of the two variables,
	// as a mounted secret of Kubernetes; then they must exist.
	File string
	// Terminal gets a key that is drawn if File is not set.
	Terminal io.Writer
	// Folder gets it, in the file first-key, if neither is: it is the data directory.
	Folder  string
	Account string // that the key is of
	Random  io.Reader
	Log     *slog.Logger
}

// FirstKey is the first key of a cluster as this node makes it.
type FirstKey struct {
	options FirstKeyOptions
	given   cluster.AccessKey // without an id: it is drawn
}

// OpenFirstKey reads the key that was given, if one was.
func OpenFirstKey(o FirstKeyOptions) (*FirstKey, error) {
	k := &FirstKey{options: o}
	if o.File == "" {
		return k, nil
	}
	given, err := readKey(o.File)
	if errors.Is(err, fs.ErrNotExist) {
		return k, checkFolder(o.File)
	}
	if err != nil {
		return nil, err
	}
	given.Account = o.Account
	k.given = given
	return k, nil
}

// checkFolder finds out early that the file could not be written.
func checkFolder(file string) error {
	folder := filepath.Dir(file)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return fmt.Errorf("%s is not there, and neither is the folder to write a drawn key to: give the path of a file with the key, or of one that can be written", file)
	}
	return nil
}

// Make is the key that was given, or one that is drawn.
func (k *FirstKey) Make() (cluster.AccessKey, error) {
	if k.given.ID != "" {
		return k.given, nil
	}
	id, secret, err := auth.DrawKey(k.options.Random)
	return cluster.AccessKey{ID: id, Secret: secret, Account: k.options.Account}, err
}

// Publish hands the key to the operator, and logs where, but not the secret. What fails is
// only logged: another key can be made on the admin port.
func (k *FirstKey) Publish(key cluster.AccessKey) {
	log := k.options.Log.With("id", key.ID)
	var where string
	var err error
	switch {
	case k.given == key:
		log.Info("the cluster begins with the access key that was given", "file", k.options.File)
		return
	case k.options.File != "":
		where = k.options.File
		err = writeKey(where, key)
	case k.options.Terminal != nil:
		where = "the terminal"
		_, err = io.WriteString(k.options.Terminal, keyText(key))
	default:
		where = filepath.Join(k.options.Folder, "first-key")
		err = writeKey(where, key)
	}
	if errors.Is(err, errNotSynced) {
		log.Warn("the first access key of the cluster is in a file that may not outlast a power cut: copy the key now", "where", where, "error", err)
		return
	}
	if err != nil {
		log.Error("the first access key of the cluster could not be handed over; make another with seriatim key create, then revoke this one", "error", err)
		return
	}
	log.Info("the cluster begins with an access key of its account; its secret is shown only there", "where", where)
}
