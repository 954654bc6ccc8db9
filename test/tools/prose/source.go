package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var verb = regexp.MustCompile(`%[-+# 0]*[\d.]*(\[\d+\])?[a-zA-Z]`)

func checkSource(name, text string) ([]finding, error) {
	if generated(text) {
		return nil, nil
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var found []finding
	for _, group := range file.Comments {
		line := files.Position(group.Pos()).Line
		for _, p := range commentPassages(line, group.Text()) {
			found = append(found, p.findings("comments of "+top(name), name)...)
		}
	}
	found = append(found, checkNames(files, file, name)...)
	if slices.Contains(product, top(name)) && !strings.HasSuffix(name, "_test.go") {
		for _, p := range literals(files, file) {
			found = append(found, p.findings("strings of "+top(name), name)...)
		}
	}
	return found, nil
}

// generated follows the rule of Go for files that a program wrote.
func generated(text string) bool {
	return regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`).MatchString(text)
}

// commentPassages splits a comment into its paragraphs, without indented code.
func commentPassages(line int, text string) []passage {
	var all []passage
	var part []string
	start := line
	end := func() {
		if len(part) > 0 {
			all = append(all, passage{line: start, text: plain(strings.Join(part, " ")), comment: true})
		}
		part = nil
	}
	for i, s := range strings.Split(text, "\n") {
		if strings.TrimSpace(s) == "" || strings.HasPrefix(s, "\t") || strings.HasPrefix(s, "    ") {
			end()
			continue
		}
		if len(part) == 0 {
			start = line + i
		}
		part = append(part, s)
	}
	end()
	return all
}

// literals returns the texts of a file: string literals of several words, with the
// operands of a concatenation joined, and the help in the tags of fields.
func literals(files *token.FileSet, file *ast.File) []passage {
	var all []passage
	add := func(pos token.Pos, text string) {
		line := files.Position(pos).Line
		for _, part := range texts(text) {
			all = append(all, passage{line: line, text: part})
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && (key.Name == "Example" || key.Name == "Use") {
				return false
			}
		case *ast.Field:
			if n.Tag != nil {
				if raw, err := strconv.Unquote(n.Tag.Value); err == nil {
					add(n.Tag.Pos(), reflect.StructTag(raw).Get("help"))
				}
			}
		case *ast.BinaryExpr:
			if text, ok := joined(n); ok {
				add(n.Pos(), text)
				return false
			}
		case *ast.BasicLit:
			if text, ok := joined(n); ok {
				add(n.Pos(), text)
			}
		}
		return true
	})
	return all
}

// joined returns the text of a literal or a concatenation in which other operands count as
// one word.
func joined(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING || strings.HasPrefix(e.Value, "`") && strings.Contains(e.Value, `:"`) {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.ParenExpr:
		return joined(e.X)
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		left, lit := joined(e.X)
		right, also := joined(e.Y)
		if !lit && !also {
			return "", false
		}
		if !lit {
			left = "X"
		}
		if !also {
			right = "X"
		}
		return left + right, true
	}
	return "", false
}

// texts returns the paragraphs of a literal that have at least two words. Lines that are
// indented are commands or examples.
func texts(literal string) []string {
	var all []string
	for _, paragraph := range strings.Split(literal, "\n\n") {
		var lines []string
		for _, line := range strings.Split(paragraph, "\n") {
			if !strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "\t") {
				lines = append(lines, line)
			}
		}
		text := plain(verb.ReplaceAllString(strings.Join(lines, " "), "X"))
		if prose(text) {
			all = append(all, text)
		}
	}
	return all
}

// prose returns whether a literal reads as a text, not as a key, a path or a pattern.
func prose(s string) bool {
	n := 0
	for _, field := range strings.Fields(s) {
		field = strings.Trim(field, `.,;:!?"'()`)
		notOfWords := func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '\''
		}
		if len(field) > 1 && strings.IndexFunc(field, notOfWords) < 0 {
			n++
		}
	}
	return n >= 2
}

// checkNames lists declared names with a private word in them.
func checkNames(files *token.FileSet, file *ast.File, name string) []finding {
	var found []finding
	see := func(ids ...*ast.Ident) {
		for _, id := range ids {
			if id == nil {
				continue
			}
			part, instead := privateName(id.Name)
			if part != "" && !(part == "settle" && strings.HasPrefix(name, settlementFolder)) {
				found = append(found, finding{"names of " + top(name), name, files.Position(id.Pos()).Line,
					"private name " + part + " (say: " + instead + ")", id.Name})
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			see(n.Name)
		case *ast.TypeSpec:
			see(n.Name)
		case *ast.ValueSpec:
			see(n.Names...)
		case *ast.Field:
			see(n.Names...)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, e := range n.Lhs {
					if id, ok := e.(*ast.Ident); ok {
						see(id)
					}
				}
			}
		}
		return true
	})
	return found
}
