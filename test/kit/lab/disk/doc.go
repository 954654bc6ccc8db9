// Package disk gives every node of a test its own disk that can be broken: an ext4 file system
// in a file, mounted through a loop device. Mounting needs root; Available tells whether this
// machine can.
//
// Faults are power cuts of one or several disks at one moment, a disk that is gone, hangs or is
// full, slow and failing syncs, and damage to the files of a stopped node. It counts the writes
// that a power cut dropped, because a cut that dropped nothing proves nothing.
//
// A power cut keeps everything that the file system had written to the loop device. The cache of
// a real drive is not modelled; test/faults/crash, which replays recorded writes, does that.
package disk
