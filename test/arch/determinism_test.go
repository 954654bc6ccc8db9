package arch

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// replicated are the packages that every node must execute alike: queue, fsm, and the hand-written
// packages below them.
func replicated(sources []*source) []string {
	var folders []string
	for _, s := range sources {
		top, _, _ := strings.Cut(s.path, "/")
		if (top == "queue" || top == "fsm") && !s.isTest() && !s.generated && !slices.Contains(folders, s.folder()) {
			folders = append(folders, s.folder())
		}
	}
	return folders
}

// orderMark is the comment that permits a range over a map. The text after it must explain why the
// order does not matter.
const orderMark = "// order does not matter: "

// marked reports whether the line of p or the line above has an orderMark with a reason.
func marked(s *source, p token.Pos) bool {
	for _, group := range s.syntax.Comments {
		for _, c := range group.List {
			why, ok := strings.CutPrefix(c.Text, orderMark)
			if distance := s.line(p) - s.line(c.Pos()); ok && strings.TrimSpace(why) != "" && (distance == 0 || distance == 1) {
				return true
			}
		}
	}
	return false
}

// mapOrderProblems finds places where the random order of a map could affect the state: ranges over
// maps, and sequences of package maps that are not immediately sorted or collected into a map.
func mapOrderProblems(c checked) []string {
	var problems []string
	for _, s := range c.files {
		ordered := map[ast.Expr]bool{}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.RangeStmt:
				if overMap(c.info.TypeOf(n.X)) && !marked(s, n.Pos()) {
					problems = append(problems, s.at(n.Pos(),
						"range over a map in random order: use an ordered map, or say why it does not matter with %q", orderMark))
				}
			case *ast.CallExpr:
				pkg, name := function(c.info, n)
				switch {
				case pkg == "slices" && strings.HasPrefix(name, "Sorted"), pkg == "maps" && (name == "Collect" || name == "Insert"):
					for _, a := range n.Args {
						ordered[a] = true
					}
				case pkg == "maps" && (name == "Keys" || name == "Values" || name == "All"):
					if !ordered[n] && !marked(s, n.Pos()) {
						problems = append(problems, s.at(n.Pos(), "maps.%s in random order: sort it, or say why it does not matter with %q",
							name, orderMark))
					}
				}
			}
			return true
		})
	}
	return problems
}

// overMap reports whether a type, or the type of a type parameter, is a map.
func overMap(t types.Type) bool {
	if p, ok := t.(*types.TypeParam); ok {
		constraint, ok := p.Constraint().Underlying().(*types.Interface)
		for embedded := range constraint.EmbeddedTypes() {
			if u, isUnion := embedded.(*types.Union); isUnion {
				for term := range u.Terms() {
					ok = ok && overMap(term.Type())
				}
			}
		}
		return ok && constraint.NumEmbeddeds() > 0
	}
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// function returns the package and name of a called package-level function.
func function(info *types.Info, call *ast.CallExpr) (pkg, name string) {
	callee := ast.Unparen(call.Fun)
	if indexed, ok := callee.(*ast.IndexExpr); ok {
		callee = indexed.X
	}
	selector, ok := callee.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	f, ok := info.Uses[selector.Sel].(*types.Func)
	if !ok || f.Pkg() == nil || f.Signature().Recv() != nil {
		return "", ""
	}
	return f.Pkg().Path(), f.Name()
}

// doubles is the one file with floating point. It has the doubles in properties of messages, one
// operation of IEEE 754 in a function.
const doubles = "queue/property/double.go"

// floatProblems finds floating-point numbers, which the state does not need and whose results may
// differ between processors.
func floatProblems(c checked) []string {
	var problems []string
	for _, s := range c.files {
		if s.path == doubles {
			continue
		}
		seen := map[int]bool{}
		note := func(p token.Pos) {
			if !seen[s.line(p)] {
				seen[s.line(p)] = true
				problems = append(problems, s.at(p, "floating point"))
			}
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok && isFloat(c.info.TypeOf(e)) {
				note(e.Pos())
			}
			return true
		})
	}
	return problems
}

func isFloat(t types.Type) bool {
	if t == nil {
		return false
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&(types.IsFloat|types.IsComplex) != 0
}

// concurrencyProblems finds goroutines, channels and locks, which the state does not need, since it
// belongs to one goroutine.
func concurrencyProblems(c checked) []string {
	var problems []string
	for _, s := range c.files {
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				problems = append(problems, s.at(n.Pos(), "goroutine"))
			case *ast.SelectStmt:
				problems = append(problems, s.at(n.Pos(), "select"))
			case *ast.ChanType:
				problems = append(problems, s.at(n.Pos(), "channel"))
			case *ast.Ident:
				o, ok := c.info.Uses[n].(*types.TypeName)
				if ok && o.Pkg() != nil && o.Pkg().Path() == "sync" && (o.Name() == "Mutex" || o.Name() == "RWMutex") {
					problems = append(problems, s.at(n.Pos(), "sync.%s", o.Name()))
				}
			}
			return true
		})
	}
	return problems
}

func TestDeterminism(t *testing.T) {
	folders := replicated(tree(t))
	packages := typeCheck(t, folders...)
	for _, name := range folders {
		report(t, mapOrderProblems(packages[name]))
		report(t, floatProblems(packages[name]))
		report(t, concurrencyProblems(packages[name]))
	}
}

func TestReplicatedPackages(t *testing.T) {
	got := replicated([]*source{
		{path: "queue/a.go"},
		{path: "queue/b.go"},
		{path: "queue/room/a.go"},
		{path: "queue/tests/a_test.go"},
		{path: "fsm/a.go"},
		{path: "fsm/fsmpb/a.pb.go", generated: true},
		{path: "cluster/queue/a.go"},
	})
	if want := []string{"queue", "queue/room", "fsm"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func TestMapOrderRuleFindsViolations(t *testing.T) {
	c := checkedSnippet(t, `package queue

import (
	"maps"
	"slices"
)

type names map[string]int

func f[M ~map[string]int](m names, generic M, s []int) []string {
	for range m {
	}
	for range generic {
	}
	for range map[int]bool{} { // order does not matter: it is empty
	}
	// order does not matter: nothing is done
	for range m {
	}
	// order does not matter:
	for range m {
	}
	for range s {
	}
	for range maps.Keys(m) {
	}
	_ = maps.Collect(maps.All(m))
	_ = slices.Collect(maps.Values(m))
	return slices.Sorted(maps.Keys(m))
}
`)
	wantProblems(t, mapOrderProblems(c), "snippet.go:11: range", "snippet.go:13: range", "snippet.go:21: range",
		"snippet.go:25: maps.Keys", "snippet.go:28: maps.Values")
}

func TestFloatRuleFindsViolations(t *testing.T) {
	c := checkedSnippet(t, `package queue

type state struct {
	n int
	f float64
	l []float32
}

const half = 0.5

var n int = 1e3

func f(s state) int { return s.n * 2 }

func g(s state) int { return int(float64(s.n) * 1.5) }
`)
	wantProblems(t, floatProblems(c), "snippet.go:5:", "snippet.go:6:", "snippet.go:9:", "snippet.go:15:")
}

func TestConcurrencyRuleFindsViolations(t *testing.T) {
	c := checkedSnippet(t, `package queue

import "sync"

type state struct{ mu sync.Mutex }

func f(c chan int) {
	go f(c)
	select {}
}
`)
	wantProblems(t, concurrencyProblems(c), "snippet.go:5: sync.Mutex", "snippet.go:7: channel", "snippet.go:8: goroutine",
		"snippet.go:9: select")
}

// worldly are the functions that read the time or create a root context. Both must be parameters,
// so that tests can control the clock and a shutdown reaches everything.
var worldly = map[string][]string{
	"time":    {"Now", "Sleep", "Since", "Until"},
	"context": {"Background", "TODO"},
}

var randomness = []string{"math/rand", "crypto/rand"}

// worldProblems checks one file that is not a test. The clock and randomness are read only in
// cluster/environment and cmd. The client is an exception: it is part of other programs, and makes
// ids and signature dates itself.
func worldProblems(s *source) []string {
	top, _, _ := strings.Cut(s.path, "/")
	places := []string{"cluster/environment/clock.go", "cluster/environment/environment.go", "transport/grpc/client/ids.go",
		"transport/grpc/client/sign.go"}
	if s.isTest() || top == "cmd" || top == "test" || slices.Contains(places, s.path) {
		return nil
	}
	var problems []string
	local := map[string]string{} // name in this file to import path
	for _, i := range s.syntax.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		if coversAny(randomness, path) {
			problems = append(problems, s.at(i.Pos(), "%s: randomness comes through parameters", path))
		}
		if worldly[path] == nil {
			continue
		}
		local[path] = path
		if i.Name != nil {
			local[i.Name.Name] = path
			if i.Name.Name == "." {
				problems = append(problems, s.at(i.Pos(), "dot import of %s", path))
			}
		}
	}
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := selector.X.(*ast.Ident); ok && slices.Contains(worldly[local[x.Name]], selector.Sel.Name) {
				problems = append(problems, s.at(n.Pos(), "%s.%s comes through parameters", local[x.Name], selector.Sel.Name))
			}
		}
		return true
	})
	return problems
}

func TestTimeAndRandomnessComeThroughParameters(t *testing.T) {
	for _, s := range tree(t) {
		report(t, worldProblems(s))
	}
}

func TestWorldRuleFindsViolations(t *testing.T) {
	const text = `package x

import (
	"context"
	clock "time"
	"math/rand/v2"
)

var (
	now  = clock.Now
	ctx  = context.Background()
	n    = rand.Int()
	wait = clock.NewTimer
)

func f() { clock.Sleep(1) }
`
	want := []string{"x.go:6: math/rand/v2", "x.go:10: time.Now", "x.go:11: context.Background", "x.go:16: time.Sleep"}
	wantProblems(t, worldProblems(snippet(t, "cluster/x.go", text)), want...)
	wantProblems(t, worldProblems(snippet(t, "transport/sqs/x.go", text)), want...)
	for _, path := range []string{"cmd/seriatim/x.go", "cluster/environment/clock.go", "cluster/x_test.go", "test/kit/harness/x.go"} {
		wantProblems(t, worldProblems(snippet(t, path, text)))
	}
}
