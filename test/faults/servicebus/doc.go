// Package servicebus kills the leaders of a cluster under unmodified clients of Azure Service Bus, and
// checks what the clients saw.
//
// Programs in the folders python and java send, receive and hold sessions with the SDKs, and report
// each certain result as a line of JSON. They reach the nodes through one address, as behind a load
// balancer. Package faults and its checkers know other clients: they see the calls themselves.
package servicebus
