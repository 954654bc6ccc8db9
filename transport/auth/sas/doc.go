// Package sas verifies and signs shared access signatures, the tokens of Azure Service Bus clients. The
// name in a token is the id of an access key, and its signature is made with the secret of that key.
//
// # Design
//
// A token names an audience, which is the URI of a namespace or an entity, and the second in which it
// ends. The signature covers both as they were sent. Hosts of audiences are not compared, so that
// clients keep their tokens behind a proxy; a [Token] covers the entities below the path in its audience.
//
// The protocols carry a token in the header Authorization, or put it in the node $cbs of a connection.
package sas
