// Package gate guards the client port with the access keys and policies of the cluster.
//
// # What it owns
//
// Which keys may be used now, which policies count for a caller, the values of condition
// keys, and the texts of what is refused.
//
// # What it refuses to know
//
// How signatures and policies work (packages sigv4 and iam), how keys are replicated,
// actions, wire protocols.
//
// # Who calls it
//
// cmd/seriatim/server makes a [Gate] and gives it to the protocols of package transport.
//
// # Design
//
// The table of keys is read without a lock with every request; it is what this node has
// applied. A node that is behind does not know the newest keys and policies, so what is not
// found or not permitted is looked up once more when the node has caught up: what was given
// counts everywhere at once. What was taken away counts at a node as soon as it has applied
// that, commonly within milliseconds; one that is cut off may go on for longer, but can
// neither write nor read anything then.
//
// Policies of users are read again only when the table changes, those of resources when
// their text does.
package gate
