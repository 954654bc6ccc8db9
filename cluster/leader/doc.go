// Package leader does the work of the leader of a consensus group. A Term lasts from the election
// that this node won to the loss of leadership.
//
// A Term writes log entries, keeps waiting receives, and confirms reads. It stamps log time,
// proposes the commands of deadlines, move tasks and replays, and posts deliveries over HTTP. It
// knows no other node: its callers forward calls to it and retry those with an unknown outcome.
//
// # Design
//
// A Term begins to serve when all earlier entries are applied and the cluster's settings are
// written (take_over.go). When it ends, commands that were not proposed return to their callers,
// which look for the next leader.
//
// Writes. The group committer (group_commit.go) packs all waiting commands into one log entry,
// stamps the time on it (log_clock.go), and keeps up to two entries in flight: one in the leader's
// sync, one in replication. A lone command leaves at once; commands batch while the disk is busy.
// The second entry leaves when as many commands wait as the first one holds. With no entry in
// flight, the next one waits briefly for the callers that were just answered (batching_delay.go). A
// transfer of leadership holds the group committer (Hold), because the library does not define the
// outcome of entries in flight then.
//
// Outcomes. An attempt ends with an answer, as certainly not proposed, or as unknown (outcome.go).
//
// Reads. The leader notes its commit index, has a majority of voters confirm that they know no
// later term, and waits until that index is applied (read_index.go). Waiting calls share one
// confirmation; none is answered by a confirmation that began before the call (shared_call.go).
// There are no lease reads: the library's lease is a timer to step down, not a proof, and its
// VerifyLeader counts learners and late answers.
//
// Receives. A receive that finds a message is a command in the log (receive.go). A receive that
// finds none waits without disk, processor or goroutine (receive_call.go, waiting_receives.go). Its
// empty answer follows a read barrier. A send to its queue takes a waiting receive along into the
// log (piggybacked_receives.go).
//
// Deliveries over HTTP (outbox.go). The state holds each delivery and its due time. The leader
// posts and reports the results in commands, so the next leader continues with those not reported.
// One command carries many reports, and one such command is proposed at a time. The runner looks at
// a subscription only when it has changed or a delivery is due.
//
// Restore. RunExclusively replaces the state while no entry is in flight.
package leader
