// Package top is the command seriatim top: queues, message groups, consumers and nodes on the whole
// screen of a terminal, read again at an interval.
//
// # Design
//
// A Model holds what is on the screen. Update changes it for a key, a new size, a tick or an answer, and
// View draws it; neither waits or reads the clock. A Source asks the nodes, with the calls of the other
// commands, and turns their answers into tables and texts without characters that move the cursor.
// One question is asked at a time, for the page that is shown. If the answer is an error, the page keeps
// its old content and says since when.
package top
