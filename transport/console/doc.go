// Package console serves the web console on the admin port: pages that show queues, messages,
// groups, topics, the cluster and its access keys, and forms that change them.
//
// It owns the pages, their static files, sessions and forms. Its data comes from elsewhere: queues
// and topics from the native API ([grpc.Local]), the cluster from the documents of the admin port
// ([ops.Admin.Call]). So the console, the command line and other clients get the same answers, and
// permissions, quotas and audit apply to all of them alike.
//
// # Design
//
// Pages are rendered by html/template and work without scripts. Scripts refresh the live part of a
// page, filter lists while you type, draw charts, and serve keyboard shortcuts. Each page has one
// template and one Go file. The table of routes names the role that each route needs.
//
// # Threats
//
//   - Stored content is hostile. html/template escapes it; [harmless] replaces control and
//     bidirectional characters; the Content-Security-Policy permits only the console's own files,
//     so that injected markup can neither run nor load anything.
//   - Other web pages: the admin port checks Host, Origin and Sec-Fetch-Site ([transport.Origins]).
//     The session cookie is SameSite=Strict, every form carries the token of its session, and
//     frame-ancestors forbids frames.
//   - Stolen sessions: the id has 256 random bits, lives in an HttpOnly cookie, and ends after idle
//     time, at a limit, at the logout, or when its token or key is revoked. A login gets a new id.
//   - Floods of logins: the number of sessions is bounded, and sessions without a login go first.
//   - Secrets: no page contains one, except the answer to the creation of an access key. Answers
//     are never stored by caches.
//   - Viewers see names and numbers. Contents of messages need the role operator, and [grpc.Local]
//     refuses both for viewers, even if a page forgot to.
package console
