package certificate

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// folders stores the parts of a bundle below a directory.
type folders string

func (f folders) read(_ context.Context, part string) (files, error) {
	list, err := os.ReadDir(filepath.Join(string(f), part))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	content := files{}
	for _, entry := range list {
		if content[entry.Name()], err = os.ReadFile(filepath.Join(string(f), part, entry.Name())); err != nil {
			return nil, err
		}
	}
	return content, nil
}

// write renames a new folder to its name when it is complete, so that an interrupted call leaves
// no incomplete one. It replaces the files of an existing folder one by one.
func (f folders) write(_ context.Context, part string, content files) error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	draft, err := os.MkdirTemp(string(f), part+".*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(draft) //nolint:errcheck // it was renamed, or the write has failed
	for name, text := range content {
		if err := writeNew(filepath.Join(draft, name), text, 0o600); err != nil {
			return err
		}
	}
	final := filepath.Join(string(f), part)
	if _, err := os.Stat(final); errors.Is(err, fs.ErrNotExist) {
		return os.Rename(draft, final)
	}
	for name := range content {
		if err := os.Rename(filepath.Join(draft, name), filepath.Join(final, name)); err != nil {
			return err
		}
	}
	return nil
}
