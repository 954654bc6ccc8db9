// Package fsm is the replicated state machine: it applies committed log entries to a queue.Broker,
// and writes and reads snapshots of it. It implements the FSM interface of the consensus library,
// which calls it from one goroutine.
//
// The packages below it own the stored forms:
//
//	codec      commands, answers and entries of the log
//	snapshot   the state as a stream
//	format     versions, errors and checksum of both
//	wire       generated codecs of commands, answers and records
//
// # Design
//
// An entry is decoded as a whole before its first command is applied. Four faults end the process
// through Options.Fatal, because skipping the entry would split the replicas: a damaged entry, an
// unknown number, a broken invariant, and an unreadable body that a command depends on.
//
// # Bodies in files
//
// The state may refer to bodies in files of this node (BodyStore). Until a snapshot replaces the
// log, a body can be restored from its log entry. Captured.Persist therefore keeps this order:
//
//  1. Sync: all bodies of the captured state are on disk.
//  2. The snapshot with references is written and closed. Only then may the library remove log
//     entries.
//  3. Stored: the store reclaims the space freed before the capture. A restart begins with this
//     snapshot or a later one, and none refers to that space.
//
// Space freed after the capture waits for the next snapshot. A Captured that is not released keeps
// all its bodies. Restore counts the bodies of the new state by themselves (Begin), and replaces
// the old state only if none is missing (Adopt).
package fsm

// fsmpb holds messages of the protobuf library. The tests of package wire compare their bytes with
// it.
//go:generate go run -C ../test/tools ./protogen -out fsm/fsmpb fsm/command.proto fsm/result.proto fsm/snapshot.proto
