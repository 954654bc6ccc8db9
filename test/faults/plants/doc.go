// Package plants puts hooks into a copy of the product: planted bugs, which the fault tests must
// find, and failpoints. The product's own files have neither.
//
// The folder edits has one file for each bug, and some for the failpoints and for shared parts.
// An edit names a folder of the product, a text that occurs there exactly once, and its
// replacement. Apply makes the edited files and the overlay with which `go build -overlay`
// builds them. An edit whose text occurs nowhere or twice is an error: TestEditsApply of
// test/arch fails, and you carry the edit along with your change.
//
// An edit file is text. Everything before the first line that begins with two hyphens and a
// blank describes it. Then these follow, any number of times:
//
//	-- in queue           the folder, with all below it, of the following finds
//	-- find               the text, whole lines or parts of them
//	-- put                its replacement
//	-- add NAME.go        a file beside the first edited one, without its package clause
//
// Packages plant and failpoint are imported where an edit uses them.
package plants
