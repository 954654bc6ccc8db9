package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
)

// The variables that SDKs and the command-line tool read.
const (
	idVariable     = "AWS_ACCESS_KEY_ID"
	secretVariable = "AWS_SECRET_ACCESS_KEY"
)

// keyText is a key as a shell, an environment file and read understand it.
func keyText(key cluster.AccessKey) string {
	return idVariable + "=" + key.ID + "\n" + secretVariable + "=" + key.Secret + "\n"
}

// readKey reads a key from a file of text, or from a folder with a file for each variable.
// Errors say nothing of the content, which may be a secret in the wrong place.
func readKey(path string) (key cluster.AccessKey, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return cluster.AccessKey{}, err
	}
	if info.IsDir() {
		for name, value := range map[string]*string{idVariable: &key.ID, secretVariable: &key.Secret} {
			content, err := os.ReadFile(filepath.Join(path, name))
			if err != nil {
				return cluster.AccessKey{}, fmt.Errorf("the folder must hold the files %s and %s: %s of %s cannot be read", idVariable, secretVariable, name, path)
			}
			*value = strings.TrimSpace(string(content))
		}
	} else {
		content, err := os.ReadFile(path)
		if err != nil {
			return cluster.AccessKey{}, err
		}
		key = parseKey(string(content))
	}
	if key.ID == "" || key.Secret == "" {
		return cluster.AccessKey{}, fmt.Errorf("%s: the lines %s=... and %s=... are wanted", path, idVariable, secretVariable)
	}
	// The account is not of the file.
	if refused := (&queue.CreateAccessKey{ID: key.ID, Secret: key.Secret, Account: "000000000000"}).Validate(); refused != nil {
		return cluster.AccessKey{}, fmt.Errorf("%s: %s", path, refused.Message)
	}
	return key, nil
}

// parseKey reads the lines of both variables; others mean nothing.
func parseKey(content string) (key cluster.AccessKey) {
	for line := range strings.Lines(content) {
		name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		value = strings.Trim(value, `"'`)
		switch name {
		case idVariable:
			key.ID = value
		case secretVariable:
			key.Secret = value
		}
	}
	return key
}

// errNotSynced says that a file is there with the key, and may be gone after a power cut.
var errNotSynced = errors.New("the folder could not be synced")

// writeKey writes a key to a new file that only its owner may read. One that is there with
// this key is left alone, one with another key stays and is an error.
func writeKey(path string, key cluster.AccessKey) error {
	there, err := readKey(path)
	switch {
	case err == nil && there.ID == key.ID && there.Secret == key.Secret:
		return syncFolder(path) // who wrote it may have ended before
	case err == nil:
		return fmt.Errorf("%s holds another key", path)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	// Complete or not at all: a start that finds half of it would not take it for a key.
	draft, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = draft.WriteString(keyText(key))
	if err = errors.Join(err, draft.Sync(), draft.Close()); err == nil {
		err = os.Rename(draft.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(draft.Name()))
	}
	return syncFolder(path)
}

// syncFolder makes the name of a file outlast a power cut: the log says next that the key
// was handed out. What fails is an errNotSynced.
func syncFolder(path string) error {
	folder, err := os.Open(filepath.Dir(path))
	if err == nil {
		err = errors.Join(folder.Sync(), folder.Close())
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errNotSynced, err)
	}
	return nil
}
