// Package rules has the rules of subscriptions, as Azure Service Bus has them: a [Filter] selects
// messages by their properties, and an [Action] changes properties of the selected ones. [Test]
// explains the result for one message.
//
// # Design
//
// [ParseSQL] and [ParseAction] run before the log. They accept the vendor's documented grammar and
// return a tree, whose canonical text the state stores. [RestoreSQL] and [RestoreAction] read the
// canonical text. It has the same tree, and no letters outside of ASCII except in strings and
// delimited names, so that its meaning does not depend on tables of Unicode. It can be longer than
// the original, which has at most [LengthMax] characters.
//
// Evaluation is a function of the tree and of the message. Operands are evaluated from left to right.
// AND stops at the first false operand, OR at the first true one. A [property.Fault] ends the
// evaluation: the rule selects nothing, and the subscription decides about the message. newid()
// takes its value from [Message], because replicas must agree.
//
// Decisions where the vendor documents nothing; [property] has those about arithmetic:
//
//   - An operator gives unknown for operands of kinds that it does not take, such as a string and a
//     number, and for NULL. The same holds for LIKE.
//   - IN is true if an element is equal, else unknown if a comparison is unknown, else false.
//   - A condition is not a value, and a value not a condition: write urgent = TRUE.
//   - LIKE respects letter case. The character after the escape character is literal.
//   - EXISTS is true for an application property that is null. A system property without a value
//     does not exist.
//   - property(x) looks up application properties. Its argument is an expression: property('x').
//   - A name in a filter finds a property in any letter case; see [property.Set.Application].
//   - In an action, names that differ only in letter case are one property.
//   - SET and REMOVE are reserved words in filters, too.
//   - SET to an unknown value makes an application property null, and removes a system property.
//   - SET keeps the type of an existing property if that type can hold the value without loss.
//     Otherwise the property gets the type of the value. A system property always keeps its type.
//   - A value of a correlation filter has an exact kind: the string '5' does not match the integer
//     5. Integers of every width are one kind.
package rules
