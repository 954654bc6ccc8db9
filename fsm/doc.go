// Package fsm is the replicated state machine: it turns committed log entries
// into calls of queue.Broker, and the Broker's state into snapshots and back.
//
// # What it owns
//
// The encoding of commands, answers and log entries, their numbers, the log hash
// chain, and the only implementation of the consensus library's FSM interface.
// Snapshots are package snapshot's.
//
// # What it refuses to know
//
// Networks, files, clocks, leadership, wire protocols. The library hands it
// readers and writers; the time comes with each entry.
//
// # Who calls it
//
// The consensus library, from its one state machine goroutine, and package
// cluster, which encodes commands into entries and reads the state with
// FSM.Read.
//
// # Design
//
// A log entry is an envelope around frames, one per command: group commit
// puts many commands into one entry, and a frame made by a follower is put
// into the leader's entry as it is. A frame says its number, version and
// length in front of a protobuf body, so that a node can refuse what it does
// not know without parsing it.
//
// Sends and receives are encoded and decoded by hand (wire.go), in the bytes of
// the protobuf library: decoding was 15 to 25 per cent of the time a replica
// applies, and a forwarded command is decoded at the leader once more. By hand
// it takes half of that, encoding a third. What is left of applying is
// package queue's.
//
// An entry is decoded as a whole before its first command is applied. A
// damaged entry, an unknown number or a broken invariant ends the process
// through Options.Fatal: skipping would split the replicas.
package fsm

//go:generate go run -C ../test/tools ./protogen -out fsm/fsmpb fsm/command.proto fsm/result.proto fsm/snapshot.proto
