package main

import (
	"bytes"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// binding is a message and the Go type whose values it encodes.
type binding struct {
	*protogen.Message
	name     string
	of       types.Type // nil: the generator declares a struct
	fields   []*bound   // by number
	omitZero bool       // a zero value in another message is not encoded
	nilZero  string     // a pointer is nil if this field is zero
}

// bound is a field of a message and its place in the Go type.
type bound struct {
	*protogen.Field
	path  string // below the value, such as "User.Account"
	of    types.Type
	list  string   // path of the list for which a flag says that it is not nil
	given bool     // a second Go field, path + "Given", says whether there is a value
	marks []string // of the comment
}

func (b *bound) marked(mark string) bool { return slices.Contains(b.marks, mark) }

// binder finds the Go types of messages.
type binder struct {
	importer types.Importer
	root     *types.Package // of the types that have the name of their message
	bindings map[protoreflect.FullName]*binding
	order    []*binding
}

// newBinder loads the types of a package below root, and of all packages that it imports, from
// the export data of the compiler.
func newBinder(root, folder string) (*binder, error) {
	command := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}", "./"+folder)
	command.Dir, command.Stderr = root, os.Stderr
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("compiling %s: %w", folder, err)
	}
	exports := map[string]string{}
	for line := range bytes.Lines(output) {
		name, file, _ := strings.Cut(strings.TrimSpace(string(line)), "=")
		exports[name] = file
	}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	b := &binder{importer: importer.ForCompiler(token.NewFileSet(), "gc", lookup), bindings: map[protoreflect.FullName]*binding{}}
	b.root, err = b.importer.Import(path.Join(module, folder))
	return b, err
}

// bind binds messages: first those with a type of their own name or of a mark, then those in
// their fields.
func (b *binder) bind(messages []*protogen.Message) error {
	for _, m := range messages {
		if len(m.Oneofs) > 0 && !m.Oneofs[0].Desc.IsSynthetic() {
			continue
		}
		of, err := b.rootType(m)
		if err == nil && of != nil {
			err = b.add(m, of)
		}
		if err != nil {
			return err
		}
	}
	for _, m := range messages {
		if b.bindings[m.Desc.FullName()] == nil && (len(m.Oneofs) == 0 || m.Oneofs[0].Desc.IsSynthetic()) {
			if err := b.add(m, nil); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(b.order, func(x, y *binding) int { return strings.Compare(x.name, y.name) })
	return nil
}

// rootType returns the type that a mark names, or that has the name of the message; nil if there
// is none.
func (b *binder) rootType(m *protogen.Message) (types.Type, error) {
	from, name := b.root, string(m.Desc.Name())
	if mark, found := argument(marks(m.Comments), "@go"); found {
		folder, typeName, _ := strings.Cut(mark, ".")
		imported, err := b.importer.Import(path.Join(module, folder))
		if err != nil {
			return nil, err
		}
		from, name = imported, typeName
	}
	object, isType := from.Scope().Lookup(name).(*types.TypeName)
	if !isType {
		return nil, nil
	}
	return types.Unalias(object.Type()), nil
}

// add binds a message to a type, nil for one that the generator declares.
func (b *binder) add(m *protogen.Message, of types.Type) error {
	if known := b.bindings[m.Desc.FullName()]; known != nil {
		if known.of == nil || of == nil || !types.Identical(known.of, of) {
			return fmt.Errorf("message %s is for %v and for %v", m.Desc.Name(), known.of, of)
		}
		return nil
	}
	comments := marks(m.Comments)
	result := &binding{Message: m, name: m.GoIdent.GoName, of: of, omitZero: slices.Contains(comments, "@omitzero")}
	result.nilZero, _ = argument(comments, "@nilzero")
	b.bindings[m.Desc.FullName()] = result
	b.order = append(b.order, result)
	for _, f := range m.Fields {
		result.fields = append(result.fields, &bound{Field: f, path: f.GoName, marks: marks(f.Comments)})
	}
	slices.SortFunc(result.fields, func(x, y *bound) int { return int(x.Desc.Number() - y.Desc.Number()) })
	if of == nil {
		return nil
	}
	without, _ := argument(comments, "@without")
	if err := match(result, without); err != nil {
		return err
	}
	for _, f := range result.fields {
		if f.Message == nil || isBody(f.of) {
			continue
		}
		if err := b.add(f.Message, element(f.of)); err != nil {
			return err
		}
	}
	return nil
}

// marks returns the marks of a comment, in order, each with its argument.
func marks(comments protogen.CommentSet) (found []string) {
	for line := range strings.Lines(string(comments.Leading) + string(comments.Trailing)) {
		for _, word := range strings.Split(strings.TrimSpace(line), "; ") {
			if strings.HasPrefix(word, "@") {
				found = append(found, word)
			}
		}
	}
	return found
}

// argument returns the argument of the first mark of a kind.
func argument(marks []string, kind string) (string, bool) {
	for _, mark := range marks {
		if rest, found := strings.CutPrefix(mark, kind+" "); found {
			return rest, true
		}
	}
	return "", false
}

// candidate is a Go field that a field of a message may stand for.
type candidate struct {
	path, joined, leaf string
	of                 types.Type
	depth              int
}

// candidates returns the fields of a struct, and those of structs in it.
func candidates(of types.Type, path, joined string, depth int) (list []candidate) {
	fields, isStruct := of.Underlying().(*types.Struct)
	if !isStruct || isBody(of) || isInt(of) {
		return nil
	}
	for f := range fields.Fields() {
		c := candidate{path: path + f.Name(), joined: joined + plain(f.Name()), leaf: plain(f.Name()), of: f.Type(), depth: depth}
		list = append(list, c)
		if f.Embedded() {
			list = append(list, candidates(f.Type(), path, joined, depth)...)
		} else {
			list = append(list, candidates(f.Type(), c.path+".", c.joined, depth+1)...)
		}
	}
	return list
}

func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// match finds the Go field of each field of a message, and fails for a Go field that is left.
func match(m *binding, without string) error {
	list := candidates(m.of, "", "", 0)
	used := map[string]bool{}
	for name := range strings.FieldsFuncSeq(without, func(r rune) bool { return r == ',' || r == ' ' }) {
		used[name] = true
	}
	for _, f := range m.fields {
		c := find(list, f)
		if c == nil {
			base, isFlag := strings.CutSuffix(string(f.Desc.Name()), "_given")
			i := slices.IndexFunc(list, func(c candidate) bool { return c.leaf == plain(base) })
			if !isFlag || i < 0 {
				return fmt.Errorf("no field of %v is field %s of message %s", m.of, f.Desc.Name(), m.name)
			}
			f.list = list[i].path
			continue
		}
		f.path, f.of = c.path, types.Unalias(c.of)
		used[c.path] = true
		f.given = f.Desc.HasOptionalKeyword() || f.Desc.HasPresence() && f.Message == nil
		if f.given && !isInt(f.of) {
			used[c.path+"Given"] = true
		}
	}
	return complete(m, m.of, "", used)
}

// find returns the candidate for a field: that of its mark, or of its name.
func find(list []candidate, f *bound) *candidate {
	by := func(same func(c *candidate) bool) *candidate {
		for i := range list {
			if same(&list[i]) {
				return &list[i]
			}
		}
		return nil
	}
	if path, found := argument(f.marks, "@go"); found {
		return by(func(c *candidate) bool { return c.path == path })
	}
	name := plain(string(f.Desc.Name()))
	for _, same := range []func(c *candidate) bool{
		func(c *candidate) bool { return c.depth == 0 && c.leaf == name },
		func(c *candidate) bool { return c.joined == name },
		func(c *candidate) bool { return c.leaf == name },
	} {
		if c := by(same); c != nil {
			return c
		}
	}
	return nil
}

// complete fails if a field of the Go type is not encoded.
func complete(m *binding, of types.Type, path string, used map[string]bool) error {
	for f := range of.Underlying().(*types.Struct).Fields() {
		name := path + f.Name()
		if used[name] {
			continue
		}
		if _, isStruct := f.Type().Underlying().(*types.Struct); !isStruct {
			return fmt.Errorf("message %s has no field for %s of %v", m.name, name, m.of)
		}
		below := name + "."
		if f.Embedded() {
			below = path
		}
		if err := complete(m, f.Type(), below, used); err != nil {
			return err
		}
	}
	return nil
}

// element returns the type of a message in a field: behind a pointer, in a list or an array.
func element(of types.Type) types.Type {
	switch t := types.Unalias(of).(type) {
	case *types.Pointer:
		return element(t.Elem())
	case *types.Slice:
		return element(t.Elem())
	case *types.Array:
		return element(t.Elem())
	}
	return types.Unalias(of)
}

func named(of types.Type, name string) bool {
	return of != nil && strings.HasSuffix(types.Unalias(of).String(), name)
}

func isBody(of types.Type) bool { return named(of, "/queue/message.Body") }
func isInt(of types.Type) bool  { return named(of, "/queue.Int") }
