// Command prose checks how documents, texts for users and comments are written: the
// length of sentences, their openings, and words that only this project would use.
//
//	prose [-root folder] [path ...]
//
// It lists the findings below the given paths, or all of them, and then the number of
// findings of each area. It fails if there is one.
package main
