// Package plural owns how the commands write what they count, so that one node is not called 1 nodes.
//
// It refuses to know what is counted: who counts gives both forms, also those of the verb where one follows.
// The packages client, offline and server call it.
package plural
