// Package alerts checks the alerts and the dashboard under deploy with Prometheus's own
// programs: promtool for the rules and their tests, the parser of its query language
// for the panels.
//
// It is a module of its own, because Prometheus brings several hundred modules along.
// What needs nothing but names is checked in test/api/docs: that the metrics exist, and
// that each alert has a runbook and tests.
package alerts
