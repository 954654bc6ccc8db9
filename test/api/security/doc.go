// Package security sends every action of every API to a server with --auth, without a key, with
// a wrong signature and without permission. The actions come from the tables of the services, so
// a new one is tested by itself.
package security
