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

// FirstKeyOptions holds the source and the destination of the key.
type FirstKeyOptions struct {
	// File holds the first key of a new cluster. If the file is missing, the node draws a key
	// and writes it there. File may also be a folder with a file for each of the two variables,
	// such as a mounted secret of Kubernetes; then both must exist.
	File string
	// Terminal gets a drawn key if File is not set.
	Terminal io.Writer
	// Folder is the data directory. Its file first-key gets a drawn key if neither File nor
	// Terminal is set.
	Folder  string
	Account string // of the key
	Random  io.Reader
	Log     *slog.Logger
}

// FirstKey makes the first access key of a cluster.
type FirstKey struct {
	options FirstKeyOptions
	given   cluster.AccessKey // empty: draw one
}

// OpenFirstKey reads the key from the file, if there is one.
func OpenFirstKey(o FirstKeyOptions) (*FirstKey, error) {
	k := &FirstKey{options: o}
	if o.File == "" {
		return k, nil
	}
	given, err := ReadKey(o.File)
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

// checkFolder returns an error if the folder of the file does not exist.
func checkFolder(file string) error {
	folder := filepath.Dir(file)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return fmt.Errorf("neither the file %s nor its folder exists: name a file with the key, or a file in an existing folder for "+
			"a new key", file)
	}
	return nil
}

// Make returns the key from the file, or draws one.
func (k *FirstKey) Make() (cluster.AccessKey, error) {
	if k.given.ID != "" {
		return k.given, nil
	}
	id, secret, err := auth.DrawKey(k.options.Random)
	return cluster.AccessKey{ID: id, Secret: secret, Account: k.options.Account}, err
}

// Publish writes the key to its destination and logs that, without the secret. It only logs a
// failure, because the operator can make another key on the admin port.
func (k *FirstKey) Publish(key cluster.AccessKey) {
	log := k.options.Log.With("id", key.ID)
	var where string
	var err error
	switch {
	case k.given == key:
		log.Info("the cluster begins with the access key of the file", "file", k.options.File)
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
		log.Warn("the first access key of the cluster is in a file that may not outlast a power cut: copy the key now", "where", where,
			"error", err)
		return
	}
	if err != nil {
		log.Error("cannot write the first access key of the cluster; make another with seriatim key create, then revoke this one",
			"error", err)
		return
	}
	log.Info("the cluster begins with an access key of its account; its secret is shown only there", "where", where)
}
