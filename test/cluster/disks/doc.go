// Package disks breaks the disks below a real cluster: power cuts of one, two and all nodes, a
// disk that hangs, is gone or is full, flipped bits, and a control without syncs. test/faults
// breaks disks by a seeded schedule.
package disks
