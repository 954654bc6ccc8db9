package arch

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// keysOfEveryLine are in every line of a server's log: the handler writes the first three, and the
// server adds the last.
var keysOfEveryLine = []string{"time", "ts", "level", "msg", "node"}

// logKeyProblems finds log lines with two values for one key, of which a JSON parser would drop
// one.
func logKeyProblems(s *source) []string {
	var problems []string
	if s.isTest() || strings.HasPrefix(s.path, "test/") {
		return nil
	}
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		for _, key := range logKeys(call) {
			if slices.Contains(keysOfEveryLine, key) && (s.path != "cmd/seriatim/server/run.go" || key != "node") {
				problems = append(problems, s.at(call.Pos(), "the key %q is in every line of the log already", key))
			}
		}
		return true
	})
	return problems
}

// logKeys returns the literal keys in a call of a slog logger.
func logKeys(call *ast.CallExpr) (keys []string) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	first := map[string]int{"With": 0, "Debug": 1, "Info": 1, "Warn": 1, "Error": 1, "Log": 3}
	begin, known := first[method.Sel.Name]
	if !known {
		return nil
	}
	for i := begin; i+1 < len(call.Args); i += 2 {
		if literal, ok := call.Args[i].(*ast.BasicLit); ok {
			if key, err := strconv.Unquote(literal.Value); err == nil {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

func TestLogKeys(t *testing.T) {
	for _, s := range tree(t) {
		report(t, logKeyProblems(s))
	}
}

func TestLogKeyRuleFindsViolations(t *testing.T) {
	text := "package cluster\nfunc f(l logger) {\n\tl.Info(\"text\", \"peer\", 1, \"node\", 2)\n\tl.With(\"time\", 3).Warn(\"node\")\n}\n"
	wantProblems(t, logKeyProblems(snippet(t, "cluster/x.go", text)), `cluster/x.go:3: the key "node"`, `cluster/x.go:4: the key "time"`)
}
