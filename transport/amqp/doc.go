// Package amqp is the server side of AMQP 1.0 (ISO/IEC 19464): connections, sessions, links, flow
// control and transfers. It has no queues: a [Handler] decides about links and messages. Package wire
// has the encoding.
//
// # Design
//
// A connection has one goroutine, which reads frames and calls the handler. A second one lives while
// there is something to write. Links have none, so a link whose answer is late, or that waits for a
// message, costs only its memory.
//
// The calls of the handler for one connection come one at a time. They must not wait. What takes long
// is answered later, from any goroutine: a request for a link, a message of a client, the outcome
// that a client has for a message. Every connection, session and link has one last call.
//
// A message of a client is one slice of bytes, also if it came in parts. It is valid until
// [Delivery.Settle], which ends the use of its buffer. Outcomes of consecutive messages leave as one
// disposition.
//
// Messages to clients wait in their links until there is credit, the window of the session is open,
// and little is left to write. Then the links of a connection send one frame each in turn.
// [Sender.Send] reports when there is no room, and the handler is called again when there is.
//
// # What clients need
//
// The answer to an attach repeats what the client sent: its source and target byte for byte, and the
// settlement mode of the sender. The mode of the receiver is repeated to receivers, and is "first" to
// senders. A refused attach is answered without source (to a receiver) or target (to a sender), with
// a detach behind it. Names of links need not be unique.
//
// # Threats
//
// The port may face the internet. Attacks, and the defence against each:
//
//   - Silence. Protocol headers, SASL and open must be complete limits.HeaderTimeout after the begin
//     of the connection. A frame that comes in pieces must be complete within limits.BodyTimeout, and
//     a connection without input for idleTimeout is closed.
//   - Connections without a key. Until the handler calls [Conn.Verified], a connection has few
//     sessions and links and little memory, its frames take turns (package unverified), and it ends
//     after verifyTimeout.
//   - Large messages, half sent. Buffers grow with the bytes that have arrived, to at most four times
//     as much. A message beyond the maximum of its link is dropped while it comes, and rejected. One that
//     goes on beyond twice the maximum ends its link. The parts of a message must all come within
//     messageLimit, whatever else the client sends. A connection with more than incompleteMax
//     incomplete messages takes turns, as one without a key does.
//   - More messages than the handler settles. Credit bounds them for each link, and memory for the
//     connection: no frame is read until the handler has settled some.
//   - Transactions without an end. Their parts, which the handler keeps, count against the memory of
//     the connection.
//   - Messages that the client does not read, or for which it keeps the window closed. They count
//     against the memory of the connection until they are written, and a little of each until it is
//     settled. An unread write ends the connection after limits.WriteLimit.
//   - Answers that the client does not read. No frame is processed while more than outputMax bytes
//     wait to be written.
//   - Memory of all connections. Beyond limits.FreeBytes, sessions, links, buffers and messages count
//     against the budget that all connections share (package budget). When the budget is used up, a
//     message waits for a few seconds. Then the link is detached with an error after which clients
//     send again. New links are refused, and messages to clients wait.
//   - Floods of sessions and links: channelMax, handleMax and linksMax bound them, and the end of a
//     session gives back its links.
//   - Frames without effect: empty frames, flows that change nothing, dispositions of unknown
//     messages, frames for what has ended. More than idleFramesMax in a second end the connection.
//     Each idleBytes of such a frame count as one more. A disposition of a large range costs as much
//     as the unsettled messages in it.
//   - Malformed values. Package wire checks each frame in time proportional to its length.
//   - A frame or a handler that panics. The panic is logged and counted, and closes that one
//     connection.
//
// Not stopped here: floods of valid messages with a key, which the leader's queue refuses; many
// connections, which package limits bounds.
package amqp
