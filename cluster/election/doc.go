// Package election replaces a leader that is gone much sooner than the timeout of
// the consensus library would.
//
// # What it owns
//
// The failure detector, the election after a time in which nobody led, and the
// handover of a leader that does not reach all voters (a partial partition). Also
// the questions that the nodes ask each other about the leader.
//
// # What it refuses to know
//
// Votes and terms: who is elected is decided by the consensus library alone. This
// package only says when a node should campaign and when a leader should hand over,
// and both are safe at any time. It sees no type of that library; what it needs to
// know and to do comes as functions (Consensus).
//
// # Who calls it
//
// Package cluster opens one FailureDetector with the network, before the node has
// read its log, and starts it with consensus.
//
// # Design
//
// The library's timeout is long because the rate of heartbeats follows from it, and
// every heartbeat wakes the processors of idle nodes. So a follower checks on the
// leader when one of its connections broke, when calls to it have no answer, or when
// nothing came from it for half of that timeout. If nobody listens at the leader's address
// any more, if it says that it does not lead, or if it is silent and does not answer, it
// is missing; so is one that is heard and answers nothing for the whole timeout. Then the
// follower asks the other voters. Only if a majority misses the same leader in the same
// term, and none of them has a longer log, does it campaign. A leader that answers
// questions and no calls is asked to hand over. Asking first keeps one broken link from
// unseating a leader that works. Where none of this applies the library's timeout decides.
package election
