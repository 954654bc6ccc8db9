// Package disk gives every node of a test a disk of its own that can be broken:
// an ext4 file system in a file, mounted through a loop device.
//
// It owns the faults of such a disk: power cuts of one or of several disks at one
// moment, a disk that is gone, hangs or is full, slow and failing syncs of a
// running process, and damage to files of a stopped node (flipped bits, cut
// files, a rolled-back or an empty directory). It also counts what a power cut
// threw away, because a cut that dropped nothing proves nothing.
//
// What a power cut keeps is what the file system had written to the loop device.
// The cache of a real drive, which may lose even that until it is flushed, is not
// modelled; test/faults/crash, which replays recorded writes, goes further there.
//
// It refuses to know what a node is: a process is a function that ends it, or a
// process id. Mounting needs root; Available says whether this machine can.
//
// Callers are test/faults and its own tests.
package disk
