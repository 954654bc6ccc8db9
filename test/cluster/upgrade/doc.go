// Package upgrade opens the data directory of every released version with the present program,
// and upgrades a cluster of three processes to the next format.
//
// testdata/vN has the data directory of a stopped node of format version N: queues, messages in
// every state, remembered deduplication ids, a snapshot and a tail of the log, and the expected
// findings. -update makes the directory of the present version again, which is right only before
// its release.
//
// The next version is the present program, linked to claim one format more. The gate, the
// refusals and the way back before it are the same for every format. TestMixedVersions builds
// the next version with an attribute more.
package upgrade
