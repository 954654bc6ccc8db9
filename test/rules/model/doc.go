// Package model compares package queue with the reference model on random
// histories (faults.md 7.1): the same commands, with times chosen to sit on
// deadlines, go to several twins of the product and to the model, and every
// answer has to agree.
//
// # What it owns
//
// The generator of histories, the twins (plain; snapshot and restore at random
// points; a frozen state read while applying goes on; batches through the
// replicated state machine; another process), the comparison and the shrinker. All of it is
// test code:
//
//	go test ./test/rules/model                                 20 seeds, 5000 commands each
//	go test ./test/rules/model -seeds 50 -commands 20000       a million commands
//	go test ./test/rules/model -run TestComparison -seed 17    one seed
//
// SERIATIM_MODEL_SEEDS and SERIATIM_MODEL_COMMANDS say the same as the flags
// -seeds and -commands.
//
// # What it refuses to know
//
// How package queue works inside: it applies commands, reads answers, views,
// records and hashes. Package reference, the model, does not import queue.
//
// # Who calls it
//
// make test, make simulate and make twins.
package model
