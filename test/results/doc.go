// Command results writes the pages of docs/results from the records of measurements and
// fault runs. It measures nothing. `make results` runs it, and its test fails if a page
// differs from the records or another document cites a figure that they do not hold.
//
// Records are test/bench/results/*.json, which the benchmarks write, and record.jsonl
// beside this file. A line of record.jsonl is one workload of one run: its part of the
// page, commit, time, machine, command, verdict and figures.
package main
