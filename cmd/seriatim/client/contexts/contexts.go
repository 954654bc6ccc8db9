// Package contexts stores the connections of the command-line tool under names, in one file of the
// user.
package contexts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/seriatimq/seriatim/cmd/seriatim/atomicfile"
)

// Context says how to reach a cluster. An empty member leaves the default.
type Context struct {
	Endpoints []string `yaml:"endpoints,omitempty" json:"endpoints,omitempty"`
	Admins    []string `yaml:"admins,omitempty" json:"admins,omitempty"`
	CAFile    string   `yaml:"ca-file,omitempty" json:"caFile,omitempty"`
	TokenFile string   `yaml:"admin-token-file,omitempty" json:"adminTokenFile,omitempty"`
	Account   string   `yaml:"account,omitempty" json:"account,omitempty"`
	Output    string   `yaml:"output,omitempty" json:"output,omitempty"`
	// Profile is a profile of the AWS tools with the access key. Otherwise KeyID and Secret are the key.
	Profile string `yaml:"aws-profile,omitempty" json:"awsProfile,omitempty"`
	KeyID   string `yaml:"access-key-id,omitempty" json:"accessKeyId,omitempty"`
	Secret  string `yaml:"secret-access-key,omitempty" json:"-"`
}

// File holds the contexts of a user.
type File struct {
	Current  string             `yaml:"current,omitempty"`
	Contexts map[string]Context `yaml:"contexts,omitempty"`
	path     string
}

// Path returns the path of the file.
func Path() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("the folder for the contexts is unknown: %w", err)
	}
	return filepath.Join(dir, "seriatim", "contexts.yaml"), nil
}

// Read reads the file. A missing one is empty.
func Read(path string) (*File, error) {
	f := &File{path: path, Contexts: map[string]Context{}}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(f); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, f.checkMode()
}

// checkMode refuses a file with secrets that others can read.
func (f *File) checkMode() error {
	secret := slices.ContainsFunc(slices.Collect(maps.Values(f.Contexts)), func(c Context) bool { return c.Secret != "" })
	info, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	if secret && info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s holds a secret and other users can read it: run chmod 600 on it", f.path)
	}
	return nil
}

// Write replaces the file. Only its owner can read it.
func (f *File) Write() error {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(f), encoder.Close()); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	return atomicfile.Replace(f.path, text.Bytes(), 0o600)
}

// Names returns the names of the contexts, sorted.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.Contexts)) }

// Find returns a context.
func (f *File) Find(name string) (Context, error) {
	if c, ok := f.Contexts[name]; ok {
		return c, nil
	}
	if len(f.Contexts) == 0 {
		return Context{}, fmt.Errorf("there is no context %q, and no other", name)
	}
	return Context{}, fmt.Errorf("there is no context %q: the contexts are %s", name, strings.Join(f.Names(), ", "))
}
