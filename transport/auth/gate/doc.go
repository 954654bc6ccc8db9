// Package gate protects the client port with the access keys and policies of the cluster. It
// looks up the key and the policies of a caller, fills in condition keys, and words the
// refusals.
//
// # Design
//
// Every request reads the table of keys that this node has applied, without a lock. A node may lag behind
// and not know the newest keys and policies. So before it refuses a request, it catches up and decides
// again: new permissions count everywhere at once. A revoked permission ends at a node when it has
// applied the change, usually within milliseconds. A partitioned node may take longer, but can neither
// write nor read then.
//
// Policies of users are parsed again only when the table changes, those of resources when their text
// changes.
package gate
