package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cmd/seriatim/atomicfile"
	"github.com/seriatimq/seriatim/queue/access"
)

// Environment variables of SDKs and of the command line.
const (
	idVariable     = "AWS_ACCESS_KEY_ID"
	secretVariable = "AWS_SECRET_ACCESS_KEY"
)

// keyText formats a key for shells, environment files and readKey.
func keyText(key cluster.AccessKey) string {
	return idVariable + "=" + key.ID + "\n" + secretVariable + "=" + key.Secret + "\n"
}

// ReadKey reads a key from a text file, or from a folder with a file for each variable. Its errors
// contain nothing of the content, which may be another secret.
func ReadKey(path string) (key cluster.AccessKey, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return cluster.AccessKey{}, err
	}
	if info.IsDir() {
		for name, value := range map[string]*string{idVariable: &key.ID, secretVariable: &key.Secret} {
			content, err := os.ReadFile(filepath.Join(path, name))
			if err != nil {
				return cluster.AccessKey{}, fmt.Errorf("the folder must hold the files %s and %s: %s of %s cannot be read", idVariable,
					secretVariable, name, path)
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
		return cluster.AccessKey{}, fmt.Errorf("%s must have the lines %s=... and %s=...", path, idVariable, secretVariable)
	}
	// Validate needs an account, which the file does not have.
	if refused := (&access.CreateAccessKey{ID: key.ID, Secret: key.Secret, Account: "000000000000"}).Validate(); refused != nil {
		return cluster.AccessKey{}, fmt.Errorf("%s: %s", path, refused.Message)
	}
	return key, nil
}

// parseKey reads the lines of both variables and ignores others.
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

// errNotSynced means that the file has the key, but may be lost in a power cut.
var errNotSynced = errors.New("the folder could not be synced")

// writeKey writes a key to a new file that only its owner may read. A file with the same key is
// fine, a file with another key is an error.
func writeKey(path string, key cluster.AccessKey) error {
	there, err := ReadKey(path)
	switch {
	case err == nil && there.ID == key.ID && there.Secret == key.Secret:
		return syncFolder(path) // an earlier process may have ended before its sync
	case err == nil:
		return fmt.Errorf("%s holds another key", path)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := atomicfile.Replace(path, []byte(keyText(key)), 0o600); err != nil { // a start fails on half a key
		return err
	}
	return syncFolder(path)
}

// syncFolder makes the name of a file durable. It returns errNotSynced if that fails.
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
