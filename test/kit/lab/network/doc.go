// Package network is a network on one machine: hosts in their own namespaces, wired to a switch
// in the test process that decides about every frame.
//
// It has namespaces, links, addresses and host names (Lab), the rules of the switch (Policy),
// their counts, and the process's move into a namespace (Inside). It recognizes the kinds of
// traffic by port numbers and the first bytes of a connection.
//
// There is no bridge and no netem: a policy is one value, swapped in one step, so a partition is
// never half done. With user namespaces it needs no privileges.
package network
