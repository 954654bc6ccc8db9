// Package service holds the part of serving a call that all client protocols share: the caller and
// its account, the resource, permissions, quotas, the audit and the access log, and the time in
// which calls may wait. It knows no wire protocol and no HTTP.
//
// A protocol begins the record of a call ([Calls]), makes a [Call] when it knows the caller, asks
// for permissions and quotas when it knows the resource, and executes commands through the Call.
package service
