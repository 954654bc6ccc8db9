// Package limits names how much of everything there may be.
//
// # What it owns
//
// The limits that a client meets: lengths, counts and seconds, with their source
// where it is not the documentation of AWS.
//
// # What it refuses to know
//
// Who refuses what is beyond a limit, and in which words. How much work one command
// may cause is no limit of a client: such budgets are beside the rules that use them.
//
// # Who calls it
//
// Package queue, the packages below it, and the wire protocols.
package limits
