// Package property reads the properties of a message from its AMQP 1.0 sections, and has the typed
// values of properties with their arithmetic. [Check] validates sections before the log. A [Set]
// looks up the properties of one message by name.
//
// # Design
//
// The state keeps sections as encoded bytes and reads them when rules need a property. Replicas must
// agree on every result, today and after an upgrade. So this package has its own reader, and depends
// on no library whose rules or tables change between versions of Go.
//
// A [Value] keeps its AMQP type. Operators use its [Kind], which follows the types of Azure Service
// Bus: integers of every width are one kind, strings and symbols another. An unsigned integer above
// the range of a signed one is a decimal. Values that no operator takes have the kind of binary
// values: decimals beyond the range of .NET, and values with an unknown descriptor.
//
// Decisions where Service Bus documents nothing, besides "C# implicit conversion semantics whenever
// possible":
//
//   - Integers have 64 bits. A result beyond them is a [Fault], as are a division by zero and the
//     remainder of one. Division truncates toward zero.
//   - Doubles follow IEEE 754: there are infinities, and NaN differs from every number.
//   - A decimal has 96 bits and up to 28 decimal places, and rounds half to even. A result beyond
//     its range is a fault.
//   - An integer meets a decimal as a decimal. Both meet a double as doubles, so 19.99 equals the
//     decimal 19.99. C# refuses to mix decimals and doubles.
//   - Strings compare by their UTF-8 bytes, with letter case. C# has no order of strings.
//   - A string plus any other value is the string with the text of the value. No result is longer
//     than [TextBytesMax].
//   - A time minus a time is a duration. A time plus or minus a duration is a time.
//   - Booleans and GUIDs are equal or different, without an order.
//   - Operands of other kinds have no result, which rules take as unknown.
package property
