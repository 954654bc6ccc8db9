package cluster

import "github.com/seriatimq/seriatim/cluster/environment"

// Clock is where a node reads time.
type Clock = environment.Clock

// Network is how a node listens and reaches the others.
type Network = environment.Network

// DiskSpace is the space of a file system, in bytes.
type DiskSpace = environment.DiskSpace

// SystemClock returns the clock of the machine.
func SystemClock() Clock { return environment.SystemClock() }
