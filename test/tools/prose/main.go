package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	root := flag.String("root", ".", "folder of the project")
	counts := flag.Bool("counts", false, "list only the findings of areas that must be clean, and count the others")
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
	if report(os.Stdout, findings, flag.Args(), *counts) {
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

// report writes the findings and the counts. It returns whether an area that must be
// clean has a finding.
func report(out io.Writer, all []finding, below []string, counts bool) bool {
	number := map[string]int{}
	failed := false
	for _, f := range all {
		if !within(f.file, below) {
			continue
		}
		must := !pending(f.area)
		failed = failed || must
		number[f.area]++
		if !counts || must {
			fmt.Fprintf(out, "%s:%d: %s: %s\n", f.file, f.line, f.rule, f.text)
		}
	}
	areas := make([]string, 0, len(number))
	for area := range number {
		areas = append(areas, area)
	}
	slices.Sort(areas)
	for _, area := range areas {
		note := ""
		if pending(area) {
			note = " (pending)"
		}
		fmt.Fprintf(out, "%6d %s%s\n", number[area], area, note)
	}
	return failed
}

func within(file string, below []string) bool {
	for _, prefix := range below {
		if strings.HasPrefix(file, strings.TrimPrefix(prefix, "./")) {
			return true
		}
	}
	return len(below) == 0
}
