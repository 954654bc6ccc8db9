// Package alerts checks the alerts and the dashboard under deploy with Prometheus's own
// programs. promtool checks the rules and runs their tests; the parser of the query language
// reads the panels. It is a module of its own, because Prometheus brings several hundred
// modules.
//
// test/api/docs checks that the metrics exist, and that each alert has a runbook and tests.
package alerts
