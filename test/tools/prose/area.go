package main

import (
	"path"
	"strings"
)

// A finding is one sentence or word that breaks a rule.
type finding struct {
	area string
	file string
	line int
	rule string
	text string
}

// product lists the folders whose string literals users may see.
var product = []string{"cmd", "cluster", "fsm", "queue", "transport"}

// kindOf returns the check for a file, nil for a file that none applies to.
func kindOf(name string) func(name, text string) ([]finding, error) {
	switch {
	case strings.Contains(name, "testdata/"), strings.HasPrefix(name, "docs/internals/specification/"),
		strings.HasPrefix(name, ".github/"):
		return nil
	case path.Ext(name) == ".md":
		return checkPage
	case path.Ext(name) == ".go" && !strings.HasPrefix(name, "test/tools/prose/"):
		return checkSource
	}
	return nil
}

// top returns the first folder of a path.
func top(name string) string {
	first, _, _ := strings.Cut(name, "/")
	return first
}

// areaOfPage returns the area of a document: docs/operate/security.md is in docs/operate.
func areaOfPage(name string) string {
	switch top(name) {
	case "docs":
		return path.Dir(name)
	case "test", "deploy":
		return "pages of " + top(name)
	}
	return name
}
