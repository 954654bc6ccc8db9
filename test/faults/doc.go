// Package faults breaks the processes, network, disks, clocks and membership of a real
// three-node cluster by a seeded schedule, records the calls of every client, and has them
// judged.
//
// It holds the testbed (nodes on hosts of a lab, each with its own disk), the workloads, the
// faults, the fixed scenarios, and the runs: quick, smoke, night and soak. Without the
// privileges for labs it runs a part, and the report names the rest.
//
// Packages below: backlog (messages parked through a soak), crash (power cuts of one node),
// plants (the edits of a fault build), report (one page for each run). test/oracle/check judges
// the clients' view. test/oracle/logcheck judges the committed log, which nodes of a fault build
// record. Nothing else inside a server is believed.
package faults
