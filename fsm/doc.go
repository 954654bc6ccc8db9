// Package fsm is the replicated state machine: it turns committed log entries
// into calls of queue.Broker, and the Broker's state into snapshots and back.
//
// # What it owns
//
// Applying an entry: its commands, their answers, the position and hashes that follow,
// the log hash chain; and the only implementation of the consensus library's FSM
// interface. The packages below it own what is stored:
//
//	codec      commands, answers and entries of the log
//	snapshot   the state as a stream
//	format     versions, errors and checksum of both
//	protobuf   values that commands, answers and records encode alike
//	fsmpb      generated messages
//
// # What it refuses to know
//
// Networks, files, clocks, leadership, wire protocols. The library hands it
// readers and writers; the time comes with each entry.
//
// # Who calls it
//
// The consensus library, from its one state machine goroutine, and package
// cluster, which reads the state with FSM.Read.
//
// # Design
//
// An entry is decoded as a whole before its first command is applied. A
// damaged entry, an unknown number or a broken invariant ends the process
// through Options.Fatal: skipping would split the replicas.
package fsm

//go:generate go run -C ../test/tools ./protogen -out fsm/fsmpb fsm/command.proto fsm/result.proto fsm/snapshot.proto
