//go:build !linux

package http1

// departures are told to nobody here: each connection that waits has a goroutine.
type departures struct{}

func (*departures) add(*peerWatch) bool { return false }

func (*departures) remove(*peerWatch) {}

func (*departures) close() {}
