// Package linearizability judges single queues as black boxes (faults.md 2.3,
// level C): is there an order of the calls, each between its call and its
// return, in which a FIFO queue could have given these answers? Porcupine
// searches for one.
//
// # Design
//
// Time is part of the state: each answer carries the log time of its entry, a
// step needs a time not before the state's, and whatever is past its deadline
// then is over. A call of unknown outcome has no known time; the deadlines that
// it begins lie in an interval, within which both outcomes are legal until an
// answer decides. A receipt handle is a message and its receive count, so that
// states stay small. What the model lacks (dead-letter queues, retention,
// delays) the queues that it is given must not use.
package linearizability
