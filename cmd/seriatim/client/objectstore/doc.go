// Package objectstore uploads a stream of unknown length to a store that speaks the S3
// protocol, in parts, so that neither a file nor the memory for all of it is needed.
//
// It is one upload and nothing more: no listing, no download, no deletion, which the rules of
// a bucket do better; only whether an object has the name already is asked. Requests are signed with package sigv4. What was not finished is given
// up, so that the store keeps no half of an object; nothing appears under its name before
// Finish. Package client gives it backups.
package objectstore
