// Package filter parses the filter policies of subscriptions and decides which messages pass
// them, by the rules of Amazon SNS. A [Policy] is compiled when it is set and may be used from
// anywhere. A [Message] is read once for all policies and belongs to one goroutine.
//
// # Design
//
// What is stored and returned is the text as it was given, as SNS returns it; it is
// compiled again when a snapshot is read. So a text that was accepted once has to
// be accepted by all later versions, with the same meaning: nothing here depends on
// a library whose tables or rules change between versions of Go.
//
// SNS compiles policies with the library that Amazon published as event-ruler, and
// the texts of errors are those that localstack recorded at SNS, else those of
// that library, with the place in the text that its JSON reader would name: that
// reader has always looked at the next token already, and so points behind it.
//
// A policy names values by the path to them, joined with dots, whether the dots
// come from nesting or stand in a name: the recordings show that {"a.b": ...} and
// {"a": {"b": ...}} are the same to SNS, in a policy and in a body. Arrays have no
// place in a path, so that two conditions may be met by different elements.
//
// Where SNS documents nothing:
//
//   - Numbers are compared exactly, of any size and with all decimals. SNS promises
//     five decimals from -10^9 to 10^9, and only bounds of numeric and numbers of
//     anything-but have to be in that range.
//   - A name that occurs twice in an object of a policy is refused. In a body, each
//     of the values counts.
//   - The five keys are the different paths that have conditions, as in the
//     newer editions of the developer guide.
//   - anything-but is met by any value that exists and is not excluded, of any kind,
//     and by an array of which one element is not excluded. It takes prefix, suffix
//     and equals-ignore-case; of these SNS took only prefix when it was recorded.
//   - equals-ignore-case knows the case of Latin, Greek, Cyrillic and Armenian
//     letters; other letters have to be equal.
//   - A network of cidr is all addresses with its prefix, whatever the other bits of
//     the address it is written with. IPv4 and IPv6 are never in each other.
//   - An attribute of type String.Array that is not an array of plain values exists,
//     and has no value.
//   - An array without values, in a body, does not exist.
//   - Of the values at one path, the first 10,000 count ([ValuesMax]).
package filter
