// Package election replaces a missing leader long before the timeout of the consensus library.
//
// It holds the failure detector, the early election, and the handover by a leader that does not
// reach all voters (a partial partition). It only advises: the consensus library alone decides
// elections, so advice is safe at any time.
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
