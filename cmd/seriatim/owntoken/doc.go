// Package owntoken owns the token that a node makes for its admin port when it is given no file
// of tokens: it is in a file of the data directory, which only the user of the server can read.
//
// It refuses to know what a role allows. Package server makes the token, package client reads it
// on the machine of the node.
package owntoken
