// Package wire encodes commands, answers and the records of a snapshot as protobuf messages, and
// decodes them.
//
// The functions are generated from the .proto files of package fsm. They work directly on the types
// of package queue and of the packages below it, and write the same bytes as the protobuf library; a
// test compares them. Equal values give equal bytes: no message has a map.
package wire

//go:generate go run -C ../../test/tools ./protogen -wire queue -out fsm/wire fsm/command.proto fsm/result.proto fsm/snapshot.proto
