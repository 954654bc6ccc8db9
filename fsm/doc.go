// Package fsm is the replicated state machine: it applies committed log entries to a
// queue.Broker, and turns the state of the Broker into snapshots and back. It implements the FSM
// interface of the consensus library, which calls it from one goroutine.
//
// The packages below it own the stored forms:
//
//	codec      commands, answers and entries of the log
//	snapshot   the state as a stream
//	format     versions, errors and checksum of both
//	protobuf   values that commands, answers and records encode alike
//	fsmpb      generated messages
//
// # Design
//
// An entry is decoded as a whole before its first command is applied. A
// damaged entry, an unknown number, a broken invariant or a body that a command
// goes by and that cannot be read ends the process through Options.Fatal: skipping
// would split the replicas.
//
// Bodies of messages may be in files of this node (BodyStore), where the state refers to
// them. They come from the log: as long as their entries are in it nothing else has to be
// on disk. So the order in which a snapshot takes the place of the log is what keeps them
// (Captured.Persist). First all bodies that the captured state has are on disk (Sync). Then
// the snapshot that refers to them is written and closed, which is when it counts as
// there; only then does the consensus library remove entries. Then the store is told
// (Stored), and gives back the space of what was freed before the capture: a restart begins
// with this snapshot or a later one, and none of them refers to that. What was freed after
// the capture waits for the next, as the restart would find it in this one. And as long as
// a Captured is not released, nothing that it refers to is given back, whatever snapshots
// come. A restore goes the other way: the state that is read counts its bodies by itself
// (Begin), and takes the place of the one before only if all of them are there (Adopt).
package fsm

//go:generate go run -C ../test/tools ./protogen -out fsm/fsmpb fsm/command.proto fsm/result.proto fsm/snapshot.proto
