// Package faults breaks the processes, network, disks, clocks and membership of a real
// three-node cluster by a seeded schedule, and checks the recorded calls of every client.
//
// It holds the testbed (nodes on hosts of a lab, each with its own disk), the workloads, the
// faults, the fixed scenarios, and the runs: quick, smoke, night and soak. Without the
// privileges for labs it runs a part, and the report names the rest.
//
// Packages below: crash (power cuts of one node), plants (the edits of a fault build), report
// (one page for each run). test/oracle/check checks the histories of the clients.
// test/oracle/logcheck checks the committed log, which nodes of a fault build record. The checks
// use no other information from inside a server.
package faults
