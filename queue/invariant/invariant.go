// Package invariant tells whether this build checks the state after every command: with the tag invariants.
package invariant

// CheckEveryCommand makes Apply check all invariants after every command.
const CheckEveryCommand = tagged
