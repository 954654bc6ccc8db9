//go:build !invariants

package model

// everyCommandChecked: package queue checks nothing by itself; the comparison
// checks its invariants every hundred commands.
const everyCommandChecked = false
