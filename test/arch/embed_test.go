package arch

import (
	"go/ast"
	"testing"
)

// embedProblems finds structs that embed a private struct with private fields: a reader of the
// outer struct would not find these fields. Embedding is for interfaces and for structs whose fields
// are all exported, such as a part of a request. Tests may embed their fixtures.
func embedProblems(sources []*source) []string {
	private := map[string]bool{} // structs with private fields, by folder and name
	for _, s := range sources {
		structs(s, func(name string, fields *ast.FieldList) {
			for _, field := range fields.List {
				for _, n := range field.Names {
					private[s.folder()+" "+name] = private[s.folder()+" "+name] || !n.IsExported()
				}
			}
		})
	}
	var problems []string
	for _, s := range sources {
		if s.isTest() || s.generated {
			continue
		}
		structs(s, func(name string, fields *ast.FieldList) {
			for _, field := range fields.List {
				if of := embedded(field); private[s.folder()+" "+of] {
					problems = append(problems, s.at(field.Pos(), "%s embeds %s: name the field", name, of))
				}
			}
		})
	}
	return problems
}

// structs visits the named structs of a file.
func structs(s *source, visit func(name string, fields *ast.FieldList)) {
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		if declared, ok := n.(*ast.TypeSpec); ok {
			if is, ok := declared.Type.(*ast.StructType); ok {
				visit(declared.Name.Name, is.Fields)
			}
		}
		return true
	})
}

// embedded returns the name of an embedded private type, empty for another field.
func embedded(field *ast.Field) string {
	of := field.Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	if name, ok := of.(*ast.Ident); ok && len(field.Names) == 0 && !name.IsExported() {
		return name.Name
	}
	return ""
}

func TestEmbedding(t *testing.T) {
	report(t, embedProblems(tree(t)))
}

func TestEmbeddingRuleFindsViolations(t *testing.T) {
	const types = "package a\ntype bag struct{ a int }\ntype part struct{ A int }\ntype kind interface{ a() }\n"
	wantProblems(t, embedProblems([]*source{
		snippet(t, "a/types.go", types),
		snippet(t, "a/a.go", "package a\ntype s struct { bag }\ntype p struct { *bag; n int }\n"),
		snippet(t, "a/b.go", "package a\ntype t struct { b bag; part; kind; io.Reader; Public }\n"),
		snippet(t, "a/a_test.go", "package a\ntype u struct { *bag }\n"),
		snippet(t, "b/b.go", "package b\ntype s struct { bag }\n"),
	}), "a/a.go:2: s embeds bag", "a/a.go:3: p embeds bag")
}
