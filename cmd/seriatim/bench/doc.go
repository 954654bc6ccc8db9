// Package bench is the load generator: it puts a load on the client ports of a cluster, measures
// the calls and checks every answer. The command seriatim bench, the performance goals and the
// comparison with other queues all use it.
//
// A client with HTTP has one connection and uses the requests and responses of net/http without
// its Transport. The Transport passes each call to two other goroutines, which more than doubles
// the processor time of a call in the generator. Generator and servers often share a machine, so
// the servers would lose that time. For the native API the package uses the Go client.
package bench
