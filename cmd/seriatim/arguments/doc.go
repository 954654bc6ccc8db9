// Package arguments owns what the commands say about positional arguments and
// about names of commands and flags that do not exist, and how they read their
// standard input.
//
// It knows the command tree as such and none of its commands, and refuses to
// know what an argument means. The packages client, offline and server call it.
package arguments
