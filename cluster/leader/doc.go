// Package leader does the work of the leader of a consensus group. A Term lasts from the
// election that this node won to the loss of leadership.
//
// A Term writes log entries (the group committer), keeps receives that wait for messages, and
// confirms reads (ReadIndex). It stamps log time, proposes the commands of deadlines, move tasks
// and replays, and posts deliveries over HTTP.
//
// It declares the consensus Group that it needs and knows no other node. Its callers carry calls
// to it and retry those with an unknown outcome.
//
// # Design
//
// A Term begins to serve when everything before it is applied and the settings of
// the cluster are written (take_over.go). When it ends, all that was not proposed
// goes back to where it came from to find the next leader.
//
// Writes. The group committer (group_commit.go) packs all that waits into one log
// entry, stamps the time on it (log_clock.go), and keeps up to two entries in flight:
// one in the leader's sync, one in replication. A lone command leaves at once, and many
// commands gather by themselves while the disk is busy. The second entry leaves when as
// many commands wait as the first one held (due), so that entries are large where they
// are dear, and disks that are slow are all busy. When none is in flight, the next one
// waits for the callers that were just answered to call again (gathering.go). A
// transfer of leadership holds it (Hold), since the library leaves open what becomes
// of entries in flight then.
//
// Outcomes. An attempt ends in an answer, as certainly not proposed, or as unknown
// (outcome.go).
//
// Reads. The leader notes its commit index, has a majority of the voters confirm
// that they know of no later term, and waits until that index is applied
// (read_index.go). All calls that wait share one question, and none is answered by a
// question that was sent before the call (shared_call.go). There are no lease reads:
// the library's lease is a timer to step down, not a proof, and its VerifyLeader
// counts learners and late answers.
//
// Receives. A receive that finds something is a command in the log (receive.go). One
// that finds nothing waits (waiting_receives.go), costs neither disk nor processor nor a
// goroutine while it waits (receive_call.go), and its empty answer is given after a read barrier. A send to its
// queue takes it along into the log (piggybacked_receives.go).
//
// Deliveries over HTTP (outbox.go). The state has what is to be posted and when; the
// leader posts and reports what came of it in a command, so that the next leader goes
// on with what was not reported. Many reports share a command, one of which is proposed
// at a time. One goroutine looks at a subscription when something of it has changed or is
// due, so that nothing is done while nothing is.
//
// A restore replaces the state when nothing is in flight: RunExclusively.
package leader
