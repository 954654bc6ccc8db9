// Package document has the XML of the descriptions in the administration API of Azure Service Bus: elements
// of any kind, and rules, whose filters and actions have types by the schema of XML.
//
// A time without a zone is one of UTC. It gets another type than a time with a zone, so that clients read
// what they have written. Rules do not tell the types apart.
package document
