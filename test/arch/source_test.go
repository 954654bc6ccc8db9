package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const modulePath = "github.com/seriatimq/seriatim"

// buildTags are the tags of the binaries and the tests.
const buildTags = "hashicorpmetrics,grpcnotrace,invariants"

// source is one parsed file. Its path is relative to the root of the
// repository and has forward slashes.
type source struct {
	path      string
	text      []byte
	syntax    *ast.File
	fset      *token.FileSet
	generated bool
}

func (s *source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// folder is the directory of the file, "" for the root.
func (s *source) folder() string {
	if d := path.Dir(s.path); d != "." {
		return d
	}
	return ""
}

func (s *source) line(p token.Pos) int { return s.fset.Position(p).Line }

// at returns the text of a problem with its place.
func (s *source) at(p token.Pos, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: ", s.path, s.line(p)) + fmt.Sprintf(format, args...)
}

// imports lists the imported paths.
func (s *source) imports() []string {
	var paths []string
	for _, i := range s.syntax.Imports {
		paths = append(paths, strings.Trim(i.Path.Value, `"`))
	}
	return paths
}

func parseSource(fset *token.FileSet, name string, text []byte) (*source, error) {
	syntax, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &source{path: name, text: text, syntax: syntax, fset: fset, generated: ast.IsGenerated(syntax)}, nil
}

// snippet parses the source text of a test case.
func snippet(t *testing.T, name, text string) *source {
	t.Helper()
	s, err := parseSource(token.NewFileSet(), name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// root returns the folder of the repository.
func root(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil || !bytes.HasPrefix(text, []byte("module "+modulePath+"\n")) {
		t.Fatalf("%s is not the root of %s: %v", folder, modulePath, err)
	}
	return folder
}

// notOurs are folders without hand-written files of this repository.
var notOurs = []string{".git", "node_modules", ".venv", "target", "testdata"}

// tree returns every Go file of the repository, ordered by path, also those with other build tags
// and of nested modules.
func tree(t *testing.T) []*source {
	t.Helper()
	folder := root(t)
	fset := token.NewFileSet()
	var files []*source
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		if entry.IsDir() {
			if slices.Contains(notOurs, entry.Name()) || relative == "bin" || relative == "data" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(relative, ".go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		s, err := parseSource(fset, relative, text)
		if err != nil {
			return err
		}
		files = append(files, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 50 {
		t.Fatalf("only %d Go files were found", len(files))
	}
	return files
}

// checked is a package with its types.
type checked struct {
	files []*source // not tests
	info  *types.Info
	types *types.Package
}

// typeCheck determines the types of the named packages. It reads their imports from the compiler's
// export data.
func typeCheck(t *testing.T, folders ...string) map[string]checked {
	t.Helper()
	arguments := []string{"list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles", "-tags", buildTags}
	for _, f := range folders {
		arguments = append(arguments, "./"+f)
	}
	command := exec.CommandContext(t.Context(), "go", arguments...)
	command.Dir = root(t)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(arguments, " "), err, stderr.String())
	}
	exports := map[string]string{}
	members := map[string][]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Export, Dir string
			GoFiles                 []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		for _, f := range p.GoFiles {
			members[p.ImportPath] = append(members[p.ImportPath], filepath.Join(p.Dir, f))
		}
	}
	fset := token.NewFileSet()
	imported := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	packages := map[string]checked{}
	for _, f := range folders {
		var files []*source
		for _, name := range members[modulePath+"/"+f] {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			s, err := parseSource(fset, f+"/"+filepath.Base(name), text)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, s)
		}
		packages[f] = typeCheckFiles(t, modulePath+"/"+f, imported, files)
	}
	return packages
}

func typeCheckFiles(t *testing.T, path string, imported types.Importer, files []*source) checked {
	t.Helper()
	if len(files) == 0 {
		t.Fatalf("%s has no files", path)
	}
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{},
		Uses:  map[*ast.Ident]types.Object{},
		Defs:  map[*ast.Ident]types.Object{},
	}
	var syntax []*ast.File
	for _, s := range files {
		syntax = append(syntax, s.syntax)
	}
	p, err := (&types.Config{Importer: imported}).Check(path, files[0].fset, syntax, info)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return checked{files: files, info: info, types: p}
}

// checkedSnippet determines the types of a file in a test, which may import the standard library.
func checkedSnippet(t *testing.T, text string) checked {
	t.Helper()
	s := snippet(t, "queue/snippet.go", text)
	if build.Default.GOROOT == "" { // a test built with -trimpath does not know
		out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
		if err != nil {
			t.Fatal(err)
		}
		build.Default.GOROOT = strings.TrimSpace(string(out))
	}
	return typeCheckFiles(t, modulePath+"/queue", importer.ForCompiler(s.fset, "source", nil), []*source{s})
}

// report fails the test with every problem.
func report(t *testing.T, problems []string) {
	t.Helper()
	for _, p := range problems {
		t.Error(p)
	}
}

// wantProblems compares the problems found in a snippet with the beginnings or parts of those
// expected.
func wantProblems(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("found %q, want %d problems like %q", got, len(want), want)
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("found %q, want %q", got[i], want[i])
		}
	}
}
