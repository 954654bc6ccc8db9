// Command corpus keeps the findings of fuzzing: run it after make fuzz. It reads Go's fuzz cache
// and copies inputs to testdata/fuzz/<Target>, the smallest first. It takes an input if it
// reaches a statement of the product that no seed and no earlier input reaches. If these are
// few, the newest inputs join them. Existing files stay: one may hold an input that failed once.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// What is kept is run by every test run and copied with every clone.
const (
	filesFew     = 10              // of a target, if so many were found
	filesMax     = 40              // of a target
	fileBytesMax = 4 << 10         // of a file
	allBytesMax  = 3 << 19         // of all targets together
	folder       = "testdata/fuzz" // of a package; Go looks for it there
)

func main() {
	root := flag.String("root", filepath.Join("..", ".."), "top folder of the repository")
	tags := flag.String("tags", "", "build tags of the tests")
	only := flag.String("target", "", "one fuzz target; empty: all that have a cache")
	flag.Parse()
	if err := keepAll(*root, *tags, *only); err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

// keepAll goes through the cache, package by package.
func keepAll(root, tags, only string) error {
	module, err := output(root, "go", "list", "-m")
	if err != nil {
		return err
	}
	caches, err := output(root, "go", "env", "GOCACHE")
	if err != nil {
		return err
	}
	cache := filepath.Join(caches, "fuzz", module)
	found, err := targetsIn(cache)
	if err != nil {
		return err
	}
	room, err := roomLeft(root)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "corpus")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	binaries := make(map[string]string)
	for _, t := range found {
		if only != "" && t.name != only {
			continue
		}
		t.root, t.work, t.found = root, work, filepath.Join(cache, t.folder, t.name)
		if binaries[t.folder] == "" {
			if binaries[t.folder], err = build(t, tags); err != nil {
				return err
			}
		}
		t.binary = binaries[t.folder]
		if err := t.keep(&room); err != nil {
			return fmt.Errorf("%s %s: %w", t.folder, t.name, err)
		}
	}
	return nil
}

// targetsIn lists the targets that a cache has inputs of, by package.
func targetsIn(cache string) ([]*target, error) {
	var list []*target
	err := filepath.WalkDir(cache, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() || !strings.HasPrefix(entry.Name(), "Fuzz") {
			return err
		}
		in, err := filepath.Rel(cache, filepath.Dir(path))
		if err != nil {
			return err
		}
		list = append(list, &target{folder: in, name: entry.Name()})
		return fs.SkipDir
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("nothing was fuzzed yet: make fuzz")
	}
	return list, err
}

// roomLeft is how many bytes may still be kept.
func roomLeft(root string) (int64, error) {
	room := int64(allBytesMax)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(filepath.ToSlash(path), "/"+folder+"/") {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			room -= info.Size()
		}
		return err
	})
	return room, err
}

// build makes the test program of a package, which counts the statements of all
// packages of ours in it.
func build(t *target, tags string) (string, error) {
	const ours = `{{with .Module}}{{if .Main}}{{$.ImportPath}}{{end}}{{end}}`
	listed, err := output(t.root, "go", "list", "-tags", tags, "-deps", "-f", ours, "./"+filepath.ToSlash(t.folder))
	if err != nil {
		return "", err
	}
	program := filepath.Join(t.work, strings.ReplaceAll(filepath.ToSlash(t.folder), "/", "-")+".test")
	_, err = output(t.root, "go", "test", "-c", "-tags", tags, "-covermode", "set",
		"-coverpkg", strings.Join(strings.Fields(listed), ","), "-o", program, "./"+filepath.ToSlash(t.folder))
	return program, err
}

// output runs a program in a folder and returns what it printed.
func output(folder, name string, arguments ...string) (string, error) {
	command := exec.Command(name, arguments...)
	command.Dir = folder
	var said strings.Builder
	command.Stderr = &said
	printed, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", strings.Join(command.Args, " "), err, printed, said.String())
	}
	return strings.TrimSpace(string(printed)), nil
}

// input is a file of a cache.
type input struct {
	name  string
	bytes int64
	found time.Time
}

// small lists the inputs of a folder that are not too large, smallest first, and
// by name among those of one size.
func small(folder string) ([]input, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var list []input
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return nil, err
		}
		if info.Size() <= fileBytesMax {
			list = append(list, input{entry.Name(), info.Size(), info.ModTime()})
		}
	}
	slices.SortStableFunc(list, func(a, b input) int { return int(a.bytes - b.bytes) })
	return list, nil
}
