// Package gate protects the client port with the access keys and policies of the cluster. It
// looks up the key and the policies of a caller, fills in condition keys, and words the
// refusals.
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
