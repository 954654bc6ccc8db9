// Command protogen generates Go code from .proto files without protoc: protocompile parses and
// links the files, and the two official generator plugins run with the request that protoc would
// have sent.
//
// Usage, from the top folder of the repository:
//
//	go run -C test/tools ./protogen -out fsm/fsmpb fsm/command.proto fsm/result.proto
//	go run -C test/tools ./protogen -fast RequestFrame,Request -out cluster/peerpb cluster/peer.proto
//	go run -C test/tools ./protogen -wire queue -out fsm/wire fsm/command.proto fsm/result.proto
//
// Paths are relative to the top folder. The output folder is also the Go import path below the
// module and its last element the package name; the .proto files need no go_package option.
// Generated files end in .pb.go.
//
// With -fast, fast.go generates AppendFast and ReadFast for the named messages: they encode and
// decode without reflection, with one allocation for all messages of a list. They leave maps,
// oneofs and fields that they do not know to the protobuf library, whose encoding is the same.
//
// With -wire, wire.go generates functions that encode and decode the types of a package, queue in
// the example, without messages between. A message is for the type of its name, or for the type
// of the field that holds it. A field is for the Go field of its name; bind.go fails if a Go field
// is left. Marks in the comments of a message or field change that:
//
//	@go queue/access.Key   the message is for this type
//	@go User.Name          the field is for this Go field
//	@without MessageID     these Go fields are not encoded
//	@omitzero              a zero value in another message is not encoded
//	@nilzero Code          a pointer to the message is nil if this field is zero
//	@name                  equal texts share memory
//	@copy                  texts are copies, even if the reader shares its bytes
//	@own                   the texts of each message share one copy of its bytes
//	@pooled                the list comes from the memory of the reader
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/pluginpb"
)

const module = "github.com/seriatimq/seriatim"

func main() {
	root := flag.String("root", filepath.Join("..", ".."), "top folder of the repository")
	out := flag.String("out", "", "folder of the generated package, relative to the top folder")
	grpc := flag.Bool("grpc", false, "generate gRPC clients and servers, too")
	wire := flag.String("wire", "", "package whose types to encode, relative to the top folder, instead of generated messages")
	fast := flag.String("fast", "", "messages of one file, separated by commas, for which to generate methods without reflection")
	flag.Parse()
	if err := generate(*root, *out, *grpc, *fast, *wire, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func generate(root, out string, grpc bool, fast, wire string, files []string) error {
	if out == "" || len(files) == 0 {
		return errors.New("need -out and at least one .proto file")
	}
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{root}}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	linked, err := compiler.Compile(context.Background(), files...)
	if err != nil {
		return fmt.Errorf("parsing: %w", err)
	}
	request := &pluginpb.CodeGeneratorRequest{FileToGenerate: files}
	seen := make(map[string]bool)
	for _, file := range linked {
		addFile(request, seen, file)
	}
	parameters := []string{"paths=source_relative"}
	for _, file := range files {
		parameters = append(parameters, "M"+file+"="+path.Join(module, filepath.ToSlash(out)))
	}
	request.Parameter = new(strings.Join(parameters, ","))

	if wire != "" {
		response, err := generateWire(request, root, wire)
		if err != nil {
			return err
		}
		return write(response, filepath.Join(root, out))
	}
	plugins := []string{"protoc-gen-go"}
	if grpc {
		plugins = append(plugins, "protoc-gen-go-grpc")
	}
	for _, plugin := range plugins {
		if err := run(plugin, request, filepath.Join(root, out)); err != nil {
			return fmt.Errorf("%s: %w", plugin, err)
		}
	}
	if fast == "" {
		return nil
	}
	response, err := generateFast(request, strings.Split(fast, ","))
	if err != nil {
		return err
	}
	return write(response, filepath.Join(root, out))
}

// addFile appends file after everything it imports, the order plugins expect.
func addFile(request *pluginpb.CodeGeneratorRequest, seen map[string]bool, file protoreflect.FileDescriptor) {
	if seen[file.Path()] {
		return
	}
	seen[file.Path()] = true
	imports := file.Imports()
	for i := range imports.Len() {
		addFile(request, seen, imports.Get(i).FileDescriptor)
	}
	descriptor := protoutil.ProtoFromFileDescriptor(file)
	request.ProtoFile = append(request.ProtoFile, descriptor)
}

// run starts a plugin, a tool of this module, and writes the files it answers.
func run(plugin string, request *pluginpb.CodeGeneratorRequest, folder string) error {
	input, err := proto.Marshal(request)
	if err != nil {
		return fmt.Errorf("encoding the request: %w", err)
	}
	var output bytes.Buffer
	command := exec.Command("go", "tool", plugin)
	command.Stdin = bytes.NewReader(input)
	command.Stdout = &output
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("running: %w", err)
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(output.Bytes(), &response); err != nil {
		return fmt.Errorf("decoding the answer: %w", err)
	}
	return write(&response, folder)
}

// write writes the files that a plugin answers.
func write(response *pluginpb.CodeGeneratorResponse, folder string) error {
	if response.Error != nil {
		return errors.New(response.GetError())
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, file := range response.File {
		name := filepath.Join(folder, path.Base(file.GetName()))
		if err := os.WriteFile(name, []byte(file.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
