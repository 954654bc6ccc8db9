//go:build !linux

package http1

// departures does nothing on this system: each connection that waits has a goroutine.
type departures struct{}

func (*departures) add(*peerWatch) bool { return false }

func (*departures) remove(*peerWatch) {}

func (*departures) close() {}
