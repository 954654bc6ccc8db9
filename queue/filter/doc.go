// Package filter parses filter policies of subscriptions and matches messages, by the rules of
// Amazon SNS. A [Policy] is compiled when it is set and is safe for concurrent use. A [Message] is
// parsed once for all policies and belongs to one goroutine.
//
// # Design
//
// The state stores the text of a policy and compiles it again when a snapshot is read. Later
// versions must accept every accepted text with the same meaning. So this package depends on no
// library whose rules or tables change between versions of Go.
//
// SNS uses Amazon's event-ruler. Error texts are those recorded at SNS by localstack, else those of
// event-ruler. They include the position of its JSON reader, which has always read the next token.
//
// A path joins names with dots. SNS does not distinguish {"a.b": ...} from {"a": {"b": ...}}, in
// policies and bodies (recorded). Arrays are not part of a path, so different elements may meet
// different conditions.
//
// Decisions where SNS documents nothing:
//
//   - Numbers are compared exactly. SNS guarantees five decimals from -10^9 to 10^9;
//     only bounds of numeric and numbers of anything-but must be in that range.
//   - A repeated name in an object of a policy is refused. In a body, each of the
//     values counts.
//   - The five keys are the different paths that have conditions, as in the
//     newer editions of the developer guide.
//   - anything-but accepts any existing value that is not excluded, and an array
//     with one element that is not excluded. It supports prefix, suffix and
//     equals-ignore-case; SNS supported only prefix when it was recorded.
//   - equals-ignore-case folds Latin, Greek, Cyrillic and Armenian letters; other
//     letters must be equal.
//   - A network of cidr contains all addresses with its prefix; further bits of its
//     own address are ignored. IPv4 and IPv6 never match each other.
//   - An attribute of type String.Array that is not an array of plain values exists,
//     but has no value.
//   - An array without values, in a body, does not exist.
//   - Of the values at one path, the first 10,000 count ([ValuesMax]).
package filter
