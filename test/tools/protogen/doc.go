// Command protogen generates Go code from .proto files without protoc: the
// files are parsed and linked by protocompile, and the two official generator
// plugins are run with the request protoc would have sent them.
//
// Usage, from the top folder of the repository:
//
//	go run -C test/tools ./protogen -out fsm/fsmpb fsm/command.proto fsm/result.proto
//	go run -C test/tools ./protogen -grpc -out cluster/peerpb cluster/peer.proto
//
// Paths are relative to the top folder. The output folder is also the Go
// import path below the module and its last element the package name; the
// .proto files need no go_package option. Generated files end in .pb.go.
//
// It owns how generated code comes about, refuses to know what the messages
// mean, and is called by the go:generate lines of the packages that have
// .proto files.
package main
