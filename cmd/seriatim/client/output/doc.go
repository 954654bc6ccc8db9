// Package output writes the data of a command in the format that the user chose with -o: a table,
// JSON, JSON lines, YAML, CSV, names, or the user's own template.
//
// A command has two views of its data: a document, whose JSON is a contract, and a table for
// people. JSON, JSON lines, YAML and templates show the document; the other formats, --columns and
// --sort use the table.
package output
