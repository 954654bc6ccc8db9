package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	root := flag.String("root", ".", "folder of the project")
	flag.Parse()
	names, err := tracked(*root)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	findings, err := check(*root, names)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if report(os.Stdout, findings, flag.Args()) {
		os.Exit(1)
	}
}

// tracked returns the files of the project, without those that git ignores.
func tracked(root string) ([]string, error) {
	list := exec.Command("git", "ls-files", "-co", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", root, err)
	}
	return strings.Fields(string(out)), nil
}

func check(root string, names []string) ([]finding, error) {
	var all []finding
	for _, name := range names {
		kind := kindOf(name)
		if kind == nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // removed, but not yet in the index
		}
		if err != nil {
			return nil, err
		}
		found, err := kind(name, string(data))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// report writes the findings and the number of each area. It returns whether there are any.
func report(out io.Writer, all []finding, below []string) bool {
	number := map[string]int{}
	for _, f := range all {
		if within(f.file, below) {
			number[f.area]++
			fmt.Fprintf(out, "%s:%d: %s: %s\n", f.file, f.line, f.rule, f.text)
		}
	}
	for _, area := range slices.Sorted(maps.Keys(number)) {
		fmt.Fprintf(out, "%6d %s\n", number[area], area)
	}
	return len(number) > 0
}

func within(file string, below []string) bool {
	for _, prefix := range below {
		if strings.HasPrefix(file, strings.TrimPrefix(prefix, "./")) {
			return true
		}
	}
	return len(below) == 0
}
