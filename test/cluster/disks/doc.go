// Package disks breaks the disks below a real cluster: power cuts of one, two and
// all nodes, a disk that hangs, one that goes away, one that is full, flipped bits,
// and a control in which syncs are not made.
//
// It owns these scenarios. How a disk is broken is test/kit/lab/disk; schedules
// drawn by a seed are in test/faults. go test calls it.
package disks
