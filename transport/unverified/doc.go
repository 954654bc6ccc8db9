// Package unverified bounds the work for requests whose signature is not verified. Floods of
// them leave processor time to consensus, to applied entries and to clients with a key.
//
// A [Limiter] bounds the requests of a port that are parsed, verified and answered at once, and
// the refusals of one address in a second. A [Turn] is the permission to work on one request.
// [Conn] remembers whether a connection is trusted.
//
// # Design
//
// A goroutine of each connection is ready to run while its client pipelines requests. The
// scheduler of Go serves goroutines in turn, so a thousand of them delay each step of consensus by
// a thousand requests. Here all but a few of these goroutines are parked: half of the processors work on
// requests without a verified signature.
//
// Connections take turns. Each gets the time for one request and goes to the back of the line. A
// turn ends when the signature is verified, and the request goes on without one. It also ends before
// anything that waits: for the rest of a body, for the node to catch up, for a client that does not
// read its answer.
//
// After a verified request the connection is trusted: its next requests need no turn and take no
// lock here. A refused request takes the trust away. It also counts against the address of the
// client: beyond refusalsBurst, an address is refused refusalsPerSecond requests a second, because
// the next request of each of its connections waits that long. Trusted connections and
// first requests of new connections never wait for that, so that a client with a key can share an
// address with a flood.
package unverified
