// Package bench is the load generator: it puts a load on the client ports of a cluster, measures
// the calls and checks every answer. The command seriatim bench, the performance goals and the
// comparison with other queues all use it.
//
// A client with HTTP owns one connection and uses the requests and responses of net/http without
// its Transport. The Transport hands each call to two other goroutines, and a call then costs the
// generator more than twice as much processor time. Generator and servers often share a machine, so
// the servers would miss that time. The native API is called through its Go client.
package bench
