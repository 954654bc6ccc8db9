// Package attributes is what can be set on a queue: attributes and tags.
//
// # What it owns
//
// A table with one row per attribute of a queue: its name, on which queues it
// exists, how its value is read and printed. On top of it the defaults, the presets
// of a CompatibilityProfile, creation, changes and comparison, the rules between
// attributes, and the rules of tags.
//
// # What it refuses to know
//
// Queues: whether the target of a RedrivePolicy exists, what a change of an attribute
// means for messages, which counters are listed beside attributes.
//
// # Who calls it
//
// Package queue, when commands are checked and applied; fsm/snapshot, which stores the
// values; the protocols, to know a name.
package attributes
