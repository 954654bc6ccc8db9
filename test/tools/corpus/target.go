package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// target is a fuzz target that something was found for.
type target struct {
	folder, name string // of the package, from the top; of the function
	root         string // of the repository
	found        string // where the cache has its inputs
	work         string // for files of a moment
	binary       string // the test program
}

// keep copies inputs that reach something new, as long as there is room, and
// says what it did.
func (t *target) keep(room *int64) error {
	kept := filepath.Join(t.root, t.folder, folder, t.name)
	if err := os.MkdirAll(kept, 0o755); err != nil {
		return err
	}
	before, err := os.ReadDir(kept)
	if err != nil {
		return err
	}
	reached := make(statements)
	if err := t.run("^"+t.name+"$", reached); err != nil {
		return err
	}
	seeds := len(reached)
	inputs, err := small(t.found)
	if err != nil {
		return err
	}
	files := len(before)
	for _, in := range inputs {
		if files >= filesMax {
			break
		}
		if err := t.try(kept, in, reached, false, &files, room); err != nil {
			return err
		}
	}
	slices.SortStableFunc(inputs, func(a, b input) int { return b.found.Compare(a.found) })
	for _, in := range inputs {
		if files >= filesFew {
			break
		}
		if err := t.try(kept, in, reached, true, &files, room); err != nil {
			return err
		}
	}
	fmt.Printf("%-24s %-24s %5d found, %2d kept before, %2d now; %d blocks reached, %d by the seeds and those before\n",
		t.folder, t.name, len(inputs), len(before), files, len(reached), seeds)
	if files == 0 {
		return os.Remove(kept)
	}
	return nil
}

// try keeps one input if there is room for it and it reaches something new, or
// always.
func (t *target) try(kept string, in input, reached statements, always bool, files *int, room *int64) error {
	file := filepath.Join(kept, in.name)
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) || in.bytes > *room {
		return nil // kept before, or too large by now
	}
	data, err := os.ReadFile(filepath.Join(t.found, in.name))
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return err
	}
	old := len(reached)
	if err := t.run("^"+t.name+"$/^"+in.name+"$", reached); err != nil {
		return err // the file stays, as that of a failure does
	}
	if len(reached) == old && !always {
		return os.Remove(file)
	}
	*files++
	*room -= in.bytes
	return nil
}

// statements are blocks of statements, as a profile of coverage names them.
type statements map[string]struct{}

// run runs the inputs of a pattern and adds what they reached.
func (t *target) run(pattern string, reached statements) error {
	profile := filepath.Join(t.work, "profile")
	_, err := output(filepath.Join(t.root, t.folder), t.binary, "-test.run", pattern, "-test.coverprofile", profile)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		return err
	}
	// A line is "file:from,to statements count", after one that names the mode.
	for line := range strings.Lines(string(text)) {
		if block, ok := strings.CutSuffix(strings.TrimSpace(line), " 1"); ok {
			reached[block] = struct{}{}
		}
	}
	return nil
}
