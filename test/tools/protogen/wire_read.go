package main

import (
	"fmt"
	"go/types"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// nested returns the reader of a message in a field.
func nested(f *bound) string {
	if f.marked("@own") {
		return "r.own()"
	}
	return "r.nested()"
}

func (g wire) read(f *bound) {
	v := "m." + f.path
	g.line("case %d: // %s", fieldTag(f), f.Desc.Name())
	switch {
	case f.Desc.IsList():
		g.readList(f, v)
	case f.list != "":
		g.line("if r.number() != 0 && m.%s == nil {\nm.%[1]s = []string{}\n}", f.list)
	case f.Message != nil && isBody(f.of):
		g.line("var stored %s\nif err := Read%[1]s(r.nested(), &stored); err != nil {\nreturn err\n}", f.Message.GoIdent.GoName)
		g.line("%s = r.bodyOf(%[1]s, &stored)", v)
	case f.Message != nil:
		if pointer, is := f.of.(*types.Pointer); is {
			g.line("if %s == nil {\n%[1]s = new(%s)\n}", v, g.typeName(pointer.Elem()))
		}
		g.line("if err := Read%s(%s, %s); err != nil {\nreturn err\n}", f.Message.GoIdent.GoName, nested(f), reference(f, v))
	case f.given && isInt(f.of):
		g.line("%s = %s(int64(r.number()))", v, g.QualifiedGoIdent(protogen.GoImportPath(g.types.root.Path()).Ident("Some")))
	case f.given:
		g.line("%s, %[1]sGiven = %s, true", v, text(f))
	case f.Desc.Kind() == protoreflect.BytesKind && f.of != nil && isString(f.of):
		g.line("%s = r.copy()", v)
	case f.Desc.Kind() == protoreflect.BytesKind && f.of != nil && !isSlice(f.of):
		g.line("r.fill(%s[:], %q)", v, strings.ReplaceAll(string(f.Desc.Name()), "_", " "))
	case f.Desc.Kind() == protoreflect.BytesKind:
		g.line("%s = r.bytes()", v)
	case isBody(f.of):
		g.line("%s = r.body(%[1]s)", v)
	case f.Desc.Kind() == protoreflect.StringKind:
		g.line("%s = %s", v, text(f))
	default:
		g.line("%s = %s", v, g.number(f))
	}
}

func isSlice(of types.Type) bool {
	_, is := of.Underlying().(*types.Slice)
	return is
}

// text returns the expression that reads a text.
func text(f *bound) string {
	switch {
	case f.marked("@name"):
		return "r.name()"
	case f.marked("@copy"):
		return "r.copy()"
	}
	return "r.text()"
}

// number returns the expression that reads a number.
func (g wire) number(f *bound) string {
	if f.Desc.Kind() == protoreflect.BoolKind {
		return "r.number() != 0"
	}
	of, width := f.Desc.Kind().String(), 64
	if f.Desc.Kind() == protoreflect.Fixed64Kind {
		of = "uint64"
	}
	if f.of != nil {
		of = g.typeName(f.of)
		switch f.of.Underlying().(*types.Basic).Kind() {
		case types.Uint8:
			width = 8
		case types.Uint16:
			width = 16
		}
	}
	switch {
	case f.Desc.Kind() == protoreflect.Fixed64Kind:
		return of + "(r.fixed())"
	case width < 64:
		return fmt.Sprintf("%s(r.narrow(%d, %q))", of, 1<<width-1, strings.ReplaceAll(string(f.Desc.Name()), "_", " "))
	}
	return of + "(r.number())"
}

func (g wire) readList(f *bound, v string) {
	room := ""
	if list, is := f.of.(*types.Slice); is {
		room = fmt.Sprintf("make([]%s, 0, r.run())", g.typeName(list.Elem()))
		if f.marked("@pooled") {
			room = fmt.Sprintf("r.memory.%s(r.run())", map[bool]string{true: "texts", false: "entries"}[f.Message == nil])
		}
		room = fmt.Sprintf("if len(%s) == 0 {\n%[1]s = %s\n}", v, room)
	}
	switch {
	case f.Message == nil && f.Desc.Kind() == protoreflect.StringKind:
		g.line("%s\n%s = append(%[2]s, %s)", room, v, text(f))
		return
	case f.Message == nil:
		of := g.typeName(f.of.(*types.Slice).Elem())
		g.line("%s = readNumbers(&r, %[1]s)", v)
		g.line("case %d: // %s, one number", protowire.EncodeTag(f.Desc.Number(), protowire.VarintType), f.Desc.Name())
		g.line("%s = append(%[1]s, %s(r.number()))", v, of)
		return
	}
	name := f.Message.GoIdent.GoName
	switch list := f.of.(type) {
	case *types.Array:
		g.line("if count%s == len(%s) {\nreturn r.tooMany(%q)\n}", f.GoName, v, strings.ReplaceAll(string(f.Desc.Name()), "_", " "))
		g.line("if err := Read%s(%s, &%s[count%s]); err != nil {\nreturn err\n}\ncount%[4]s++", name, nested(f), v, f.GoName)
	case *types.Slice:
		zero := g.types.bindings[f.Message.Desc.FullName()].nilZero
		if pointer, is := list.Elem().(*types.Pointer); is {
			g.line("%s\nvar item %s\nif err := Read%s(%s, &item); err != nil {\nreturn err\n}",
				room, g.typeName(pointer.Elem()), name, nested(f))
			g.line("if item.%s == 0 {\n%s = append(%[2]s, nil)\n} else {\nkept := item\n%[2]s = append(%[2]s, &kept)\n}", zero, v)
			return
		}
		g.line("%s\n%s = append(%[2]s, %s{})\nif err := Read%s(%s, &%[2]s[len(%[2]s)-1]); err != nil {\nreturn err\n}",
			room, v, g.typeName(list.Elem()), name, nested(f))
	}
}

// choice generates the functions of a message that is a refusal or one of many results.
func (g wire) choice(m *protogen.Message) {
	name := m.GoIdent.GoName
	var refused *bound
	var results []*bound
	for _, f := range m.Fields {
		if b := (&bound{Field: f}); f.Oneof == nil {
			refused = b
		} else {
			results = append(results, b)
		}
	}
	of := func(f *bound) string { return g.valueName(g.types.bindings[f.Message.Desc.FullName()]) }
	g.line("// Append%s appends an answer: refused, or if it is nil, result. It reports false for a result\n// of another type.", name)
	g.line("func Append%s(b []byte, refused *%s, result any) ([]byte, bool) {\nif refused != nil {", name, of(refused))
	g.line("%s\nb = protowire.AppendVarint(b, uint64(Size%s(refused)))", begin(refused), refused.Message.GoIdent.GoName)
	g.line("return Append%s(b, refused), true\n}\nswitch v := result.(type) {", refused.Message.GoIdent.GoName)
	for _, f := range results {
		g.line("case %s:\nn := Size%s(&v)", of(f), f.Message.GoIdent.GoName)
		g.line("b = slices.Grow(b, %d+protowire.SizeBytes(n))\n%s", protowire.SizeVarint(fieldTag(f)), begin(f))
		g.line("return Append%s(protowire.AppendVarint(b, uint64(n)), &v), true", f.Message.GoIdent.GoName)
	}
	g.line("}\nreturn b, false\n}\n\n// Read%s is the inverse of Append%[1]s. The result is nil if it is of no known type.", name)
	g.line("func Read%s(r Reader) (refused *%s, result any, err error) {\nfor r.next() {\nswitch r.tag {", name, of(refused))
	g.line("case %d: // %s\nrefused = new(%s)\nif err := Read%s(r.nested(), refused); err != nil {\nreturn nil, nil, err\n}",
		fieldTag(refused), refused.Desc.Name(), of(refused), refused.Message.GoIdent.GoName)
	if zero := g.types.bindings[refused.Message.Desc.FullName()].nilZero; zero != "" {
		g.line("if refused.%s == 0 {\nrefused = nil\n}", zero)
	}
	for _, f := range results {
		g.line("case %d: // %s\nvar v %s\nif err := Read%s(r.nested(), &v); err != nil {\nreturn nil, nil, err\n}\nresult = v",
			fieldTag(f), f.Desc.Name(), of(f), f.Message.GoIdent.GoName)
	}
	g.line("default:\nr.skip()\n}\n}\nreturn refused, result, r.err\n}\n")
}
