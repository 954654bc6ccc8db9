package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", ".", "folder of the project")
	flag.Parse()
	if err := run(*root); err != nil {
		fmt.Fprintln(os.Stderr, "results:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	all, err := load(root)
	if err != nil {
		return err
	}
	files, err := pages(root, all)
	if err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(root, folder, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
