// Package election replaces a missing leader long before the consensus library's timeout ends.
//
// It holds the failure detector, the early election, and the handover by a leader that does not
// reach all voters (a partial partition). It only advises: the consensus library alone decides
// elections, so advice is safe at any time.
//
// # Design
//
// The library's timeout is long because it sets the rate of heartbeats, and each heartbeat wakes
// the processors of idle nodes. So a follower checks the leader when a connection to it broke, when
// calls to it have no answer, or when nothing came from it for half of that timeout.
//
// The leader is missing if its port refuses connections, if it answers that it does not lead, or if
// it is silent and does not answer. It is also missing if its heartbeats arrive but it answers no
// question for the whole timeout. The follower then asks the other voters, so that one broken link
// does not unseat a working leader. It campaigns only if a majority finds the same
// leader missing in the same term, and none of them has a longer log.
//
// A leader that answers questions but no calls is asked to hand over. In all other cases the
// library's timeout decides.
package election
