// Package model compares package queue with the reference model on random histories (faults.md
// 7.1). The same commands, with times chosen to sit on deadlines, go to several twins of the
// product and to the model, and every answer has to agree.
//
// The twins are: plain; snapshot and restore at random points; a frozen state read while
// commands are applied; batches through the replicated state machine; another process. The
// shrinker shortens a failing history.
//
// TestExplanations compares what package explain says about each message, group, queue and id with
// the model: its state, the end of the state, and what happens then.
//
//	go test ./test/rules/model                                 a few seeds
//	go test ./test/rules/model -seeds 50 -commands 20000       a million commands
//	go test ./test/rules/model -run TestComparison -seed 17    one seed
//
// SERIATIM_MODEL_SEEDS and SERIATIM_MODEL_COMMANDS set the same as the flags.
package model
