// Package plants puts hooks into a copy of the product: bugs that are planted on
// purpose, to show that the fault tests find them, and failpoints. The product's own
// files have neither.
//
// # What it owns
//
// The edits of the folder edits, one file for each bug and some for the failpoints and
// for what both need. An edit names a folder of the product, a text that is there
// exactly once, in whichever file, and what takes its place. Apply makes the edited
// files and the overlay with which `go build -overlay` builds them. An edit that finds
// its text nowhere, or more than once, is an error: TestEditsApply of test/arch fails,
// and whoever changed the product takes the edit along.
//
// An edit file is text. What is before the first line that begins with two hyphens and
// a blank describes it. Then come, again and again:
//
//	-- in queue           the folder, with all below it, of the following finds
//	-- find               the text, whole lines or parts of them
//	-- put                what takes its place
//	-- add NAME.go        a file beside the first edited one, without its package clause
//
// Packages plant and failpoint are imported where an edit uses them.
//
// # What it refuses to know
//
// What the bugs must be found by: that is the table of test/faults.
//
// # Who calls it
//
// plants/write, which make build-faults runs, and tests.
package plants
