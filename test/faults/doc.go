// Package faults works with a real three-node cluster while a seeded schedule
// breaks its processes, its network, its disks, its clocks and its membership,
// writes down what every client saw, and has that judged.
//
// # What it owns
//
// The stage (nodes on hosts of a lab, each with a disk of its own), the workloads,
// the faults and when they strike, the fixed scenarios, and the runs: a quick one
// for every test run, smoke, night and soak. A machine without the privileges for
// labs runs what it can, and the report says what it could not.
//
// Below it are backlog (messages that are parked through a soak), crash (power cuts of one
// node), plants (the edits of a fault build) and report (one page per run). Below
// test/oracle are history (the lines that are written) and check (the invariants, judged
// by the clients' view alone). The nodes of a fault build also write what they commit, which
// test/oracle/logcheck judges; test/oracle/linearizability searches for an order in the queues
// of the workload single.
//
// # What it refuses to know
//
// How processes are run (test/kit/harness), how networks and disks are broken
// (test/kit/lab), and anything inside the server: what is not in an answer to a
// client, in a node's status or in its tap is not believed.
//
// # Who calls it
//
// make faults, faults-scenarios, night, soak, faults-check and faults-selftest;
// and go test, which makes a quick run.
package faults
