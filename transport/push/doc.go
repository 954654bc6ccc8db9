// Package push posts the deliveries of topics to subscribers on the web. It bounds the time of a
// request, the length of its answer, and the number of idle connections.
//
// It refuses addresses of the machine itself, of its links, and of the metadata services of
// clouds, unless the operator allows them. Otherwise a subscriber could make the server send
// requests to places that only the server reaches.
//
// # Design
//
// The address is checked when the connection is made, after names were resolved, so that a name cannot
// resolve to another address after the check. Redirects are not followed (SNS). Proxies in the
// environment are ignored, because they would connect on behalf of the server.
package push
