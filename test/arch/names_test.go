package arch

import (
	"fmt"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// emptyNames are names that say nothing.
var emptyNames = []string{"util", "utils", "common", "helper", "helpers", "manager", "managers", "base", "misc"}

// wordBreak splits the names of files and folders; typeWord finds the words of
// a Go name.
var (
	wordBreak = regexp.MustCompile(`[_.\-]`)
	typeWord  = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)
)

// nameProblems checks the name of a file, of its folders and of the types in
// it.
func nameProblems(s *source) []string {
	var problems []string
	for element := range strings.SplitSeq(strings.TrimSuffix(s.path, ".go"), "/") {
		for _, word := range wordBreak.Split(element, -1) {
			if slices.Contains(emptyNames, strings.ToLower(word)) {
				problems = append(problems, fmt.Sprintf("%s: %q says nothing, name it after the thing inside", s.path, word))
			}
		}
	}
	if s.generated {
		return problems
	}
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		for _, word := range typeWord.FindAllString(spec.Name.Name, -1) {
			if slices.Contains(emptyNames, strings.ToLower(word)) {
				problems = append(problems, s.at(spec.Pos(), "type %s: %q says nothing", spec.Name.Name, word))
			}
		}
		return true
	})
	return problems
}

func TestNames(t *testing.T) {
	for _, s := range tree(t) {
		report(t, nameProblems(s))
	}
}

func TestNameRuleFindsViolations(t *testing.T) {
	cases := []struct {
		name    string
		path    string
		text    string
		problem []string
	}{
		{"good", "queue/group.go", "package queue\ntype databaseGroup int\n", nil},
		{"file", "queue/common.go", "package queue\n", []string{`"common"`}},
		{"part of a file name", "queue/group_helpers_test.go", "package queue\n", []string{`"helpers"`}},
		{"folder", "util/text/x.go", "package text\n", []string{`"util"`}},
		{"type", "queue/x.go", "package queue\ntype GroupManager struct{}\n", []string{"queue/x.go:2: type GroupManager"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			wantProblems(t, nameProblems(snippet(t, c.path, c.text)), c.problem...)
		})
	}
}

// docLinesMin keeps short comments out of files of their own.
const docLinesMin = 4

// noDocHeadings are headings under which comments repeated the code. For example, go list tells
// which packages import a package.
var noDocHeadings = []string{"# What it owns", "# What it refuses to know", "# Who calls it"}

// documentationProblems checks that each package has exactly one comment: in doc.go, or, if it is
// short, above the package clause of another file.
func documentationProblems(files []*source) []string {
	var problems []string
	documented := map[string]string{}
	code := map[string]bool{} // folders with files other than doc.go and tests
	var folders []string
	for _, s := range files {
		if s.generated {
			continue
		}
		if !slices.Contains(folders, s.folder()) {
			folders = append(folders, s.folder())
		}
		if path.Base(s.path) != "doc.go" && !s.isTest() {
			code[s.folder()] = true
		}
	}
	for _, s := range files {
		if s.generated || s.syntax.Doc == nil {
			continue
		}
		comment := s.syntax.Doc.Text()
		if other := documented[s.folder()]; other != "" {
			problems = append(problems, fmt.Sprintf("%s: the package has a comment in %s", s.path, other))
		}
		documented[s.folder()] = s.path
		begin := "Package " + s.syntax.Name.Name + " "
		if s.syntax.Name.Name == "main" {
			begin = "Command " + path.Base(s.folder()) + " "
		}
		if !strings.HasPrefix(comment, begin) {
			problems = append(problems, fmt.Sprintf("%s: the comment does not begin with %q", s.path, begin))
		}
		if lines := len(s.syntax.Doc.List); path.Base(s.path) == "doc.go" && lines < docLinesMin && code[s.folder()] {
			problems = append(problems, fmt.Sprintf("%s: %d lines belong at the top of another file", s.path, lines))
		}
		for _, heading := range noDocHeadings {
			if strings.Contains(comment, heading) {
				problems = append(problems, fmt.Sprintf("%s: heading %q", s.path, heading))
			}
		}
	}
	for _, f := range folders {
		if documented[f] == "" {
			problems = append(problems, f+" has no comment of the package")
		}
	}
	return problems
}

func TestDocumentation(t *testing.T) {
	report(t, documentationProblems(tree(t)))
}

func TestDocumentationRuleFindsViolations(t *testing.T) {
	long := "\n//\n// One.\n//\n// Two.\n"
	problems := documentationProblems([]*source{
		snippet(t, "good/doc.go", "// Package good does."+long+"package good\n"),
		snippet(t, "good/x.go", "package good\n"),
		snippet(t, "small/x.go", "// Package small does.\npackage small\n"),
		snippet(t, "tests/doc.go", "// Package tests does.\npackage tests\n"),
		snippet(t, "tests/x_test.go", "package tests\n"),
		snippet(t, "short/doc.go", "// Package short does.\npackage short\n"),
		snippet(t, "short/x.go", "package short\n"),
		snippet(t, "twice/doc.go", "// Package twice does."+long+"package twice\n"),
		snippet(t, "twice/x.go", "// Package twice does, too.\npackage twice\n"),
		snippet(t, "missing/x.go", "package missing\n"),
		snippet(t, "heading/doc.go", "// Package heading does.\n//\n// # Who calls it\n//\n// All.\npackage heading\n"),
		snippet(t, "cmd/x/main.go", "// Command y runs.\npackage main\n"),
		snippet(t, "pb/x.go", "// Code generated by x. DO NOT EDIT.\n\npackage pb\n"),
	})
	wantProblems(t, problems, "short/doc.go: 1 lines", "twice/x.go: the package has a comment in twice/doc.go", "heading/doc.go: heading",
		`cmd/x/main.go: the comment does not begin with "Command x "`, "missing has no comment")
}

// topLevel lists the permitted names in the root of the repository.
var topLevel = []string{
	"cmd", "cluster", "fsm", "queue", "transport", "deploy", "test", "docs", "go.mod", "go.sum", "Makefile", "README.md",
	"LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", ".gitignore", ".golangci.yml", ".ci", ".git", ".github",
}

// topLevelProblems checks the names in the root, except files that .gitignore lists because builds
// and runs create them.
func topLevelProblems(names, ignored []string) []string {
	var problems []string
	for _, name := range names {
		left := slices.ContainsFunc(ignored, func(pattern string) bool {
			matched, err := path.Match(strings.Trim(pattern, "/"), name)
			return err == nil && matched
		})
		if !left && !slices.Contains(topLevel, name) {
			problems = append(problems, name+" does not belong to the top level of the repository")
		}
	}
	return problems
}

func TestTopLevel(t *testing.T) {
	folder := root(t)
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	ignored, err := os.ReadFile(filepath.Join(folder, ".gitignore"))
	if err != nil {
		t.Fatal(err)
	}
	report(t, topLevelProblems(names, strings.Fields(string(ignored))))
}

func TestTopLevelRuleFindsViolations(t *testing.T) {
	problems := topLevelProblems([]string{"queue", "internal", "bin", "x.test", "doc"}, []string{"/bin/", "*.test"})
	wantProblems(t, problems, "internal", "doc does")
}
