package server

import "context"

// onDrain follows what the node says about being drained, also if that was before the client
// port was open.
func (r *parts) onDrain(requests context.Context) {
	follow := func(drained bool) {
		if drained {
			r.drain()
		} else {
			r.sqs.Undrain(requests)
			r.grpc.Undrain(requests)
		}
		r.front.KeepAlives(!drained)
	}
	r.drains.Store(&follow)
	if r.node.Drained() {
		follow(true)
	}
}

// drain ends what only waits on the client port, and its streams.
func (r *parts) drain() {
	r.sqs.Drain()
	r.grpc.Drain()
}
