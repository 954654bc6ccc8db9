package server

import "context"

// onDrain connects the drain state of the node with the client port. The node may be drained
// before the port is open.
func (r *parts) onDrain(requests context.Context) {
	follow := func(drained bool) {
		if drained {
			r.drain()
		} else {
			r.sqs.Undrain(requests)
			r.grpc.Undrain(requests)
			r.bus.Undrain(requests)
		}
		r.clientPort.KeepAlives(!drained)
	}
	r.drains.Store(&follow)
	if r.node.Drained() {
		follow(true)
	}
}

// drain ends the long polls and streams of the client port.
func (r *parts) drain() {
	r.sqs.Drain()
	r.grpc.Drain()
	r.bus.Drain()
}
