package clustertest

import "go.uber.org/goleak"

// IgnoreNode returns options for a leak check of a test that shares a node with other tests. The
// present goroutines are ignored, and those that the node begins some time after it leads.
func IgnoreNode() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreCurrent(),
		goleak.IgnoreAnyFunction("github.com/seriatimq/seriatim/cluster/audit.(*Auditor).WriteAudits"),
		goleak.IgnoreAnyFunction("github.com/seriatimq/seriatim/cluster/membership.(*Coordinator).Lead"),
	}
}
