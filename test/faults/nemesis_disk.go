package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/lab/disk"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// Names of observations about disk faults, besides history.BytesDropped.
const (
	powerCuts   = "disks without power"
	diskErrors  = "disk errors raised"
	refusals    = "damaged files refused"
	slowSyncs   = "syncs made slow"
	fullDisks   = "disks filled"
	hungDisks   = "hung disks left by their node"
	exitDisk    = 80 // exit codes of cluster: a write failed
	exitHang    = 81 // a write took too long
	exitFormat  = 85 // the last exit code for untrustworthy files
	letGoWithin = 20 * time.Second
)

// diskFaults need a disk of their own for each node (test/kit/lab/disk). Those that disturb single
// system calls also need a tracer, and are left out without one.
func diskFaults() []fault {
	faults := []fault{
		{name: "power cut of follower", area: areaDisk, least: time.Second, most: 4 * time.Second, single: true, begin: cutFollower},
		{name: "power cut of leader", area: areaDisk, least: time.Second, most: 4 * time.Second, single: true, begin: cutLeader},
		{name: "power cut of majority", area: areaDisk, least: 500 * time.Millisecond, most: 4 * time.Second, begin: cutMajority},
		{name: "power cut of all", area: areaDisk, least: 500 * time.Millisecond, most: time.Second, begin: cutAll},
		{name: "disk hang on leader", area: areaDisk, least: 4 * time.Second, most: 10 * time.Second, single: true, begin: hangLeader},
		{name: "disk hang on one", area: areaDisk, least: 500 * time.Millisecond, most: 10 * time.Second, single: true, begin: hangOne},
		{name: "disk of one gone", area: areaDisk, least: time.Second, most: 4 * time.Second, single: true, begin: goneOne},
		{name: "disk of one full", area: areaDisk, least: 2 * time.Second, most: 8 * time.Second, single: true, begin: fullOne},
		{name: "bit flipped in a log", area: areaDisk, least: time.Second, most: 3 * time.Second, single: true, begin: flipLog},
		{name: "bit flipped in a vote", area: areaDisk, least: time.Second, most: 3 * time.Second, single: true, begin: flipStable},
		{name: "bit flipped in a snapshot", area: areaDisk, least: time.Second, most: 3 * time.Second, single: true, begin: flipSnapshot},
	}
	if disk.CanInject() == nil {
		faults = append(faults,
			fault{name: "sync error on leader", area: areaDisk, least: 2 * time.Second, most: 4 * time.Second, single: true,
				begin: failSyncs},
			fault{name: "slow syncs on one", area: areaDisk, least: 2 * time.Second, most: 8 * time.Second, single: true, begin: slowOne},
		)
		faults = append(faults, unequalFaults()...)
	}
	return faults
}

// diskOf returns the disk of a node. A node that was added later has none.
func (s *injection) diskOf(n *harness.Node) (*disk.Disk, error) {
	if s.testbed.disks == nil {
		return nil, errors.New("there are no disks")
	}
	if d := s.testbed.disks.Of(n.DataDir); d != nil {
		return d, nil
	}
	return nil, fmt.Errorf("%s has no disk of its own", n.Name)
}

// cut cuts the power of claimed nodes until the injection ends.
func (s *injection) cut(nodes ...*harness.Node) error {
	var victims []disk.Powered
	for _, n := range nodes {
		d, err := s.diskOf(n)
		if err != nil {
			return err
		}
		victims = append(victims, disk.Powered{Disk: d, Kill: n.Kill})
	}
	s.touch(history.TouchPowerCut, nodes...)
	loss, err := disk.PowerCut(victims...)
	s.testbed.observe(powerCuts, "", int64(len(nodes)))
	s.testbed.observe(history.BytesDropped, "", loss.Bytes())
	return err
}

func cutFollower(s *injection, ctx context.Context) error {
	n, err := s.takeFollower(ctx)
	if err != nil {
		return err
	}
	return s.cut(n)
}

func cutLeader(s *injection, ctx context.Context) error {
	n, err := s.takeLeader(ctx)
	if err != nil {
		return err
	}
	return s.cut(n)
}

func cutMajority(s *injection, ctx context.Context) error {
	for range len(s.testbed.cluster.Nodes)/2 + 1 {
		if _, err := s.target(ctx); err != nil {
			return err
		}
	}
	return s.cut(s.nodes...)
}

func cutAll(s *injection, _ context.Context) error {
	if err := s.takeAll(); err != nil {
		return err
	}
	return s.cut(s.nodes...)
}

// hang stops a node's disk until the injection ends.
func (s *injection) hang(n *harness.Node) error {
	d, err := s.diskOf(n)
	if err != nil {
		return err
	}
	s.touch(history.TouchHang, n)
	if err := d.Hang(); err != nil {
		return err
	}
	s.undo(func() error {
		if err := d.Thaw(); err != nil {
			return err
		}
		return s.awaitEnd(n)
	})
	return nil
}

// awaitEnd waits until a node whose disk is back either answers or ends. A process that was killed
// while its disk hung ends only now.
func (s *injection) awaitEnd(n *harness.Node) error {
	ctx, cancel := context.WithTimeout(context.Background(), letGoWithin)
	defer cancel()
	for n.Running() {
		if _, err := n.Status(ctx); err == nil {
			return nil
		}
		if !pause(ctx, 20*time.Millisecond) {
			return fmt.Errorf("%s neither answers nor ends after its disk is back", n.Name)
		}
	}
	return s.left(n, hungDisks, exitHang, exitDisk)
}

// left records that a node ended by itself, and returns an error if it ran on or its exit code is
// not one of codes.
func (s *injection) left(n *harness.Node, what string, codes ...int) error {
	code, err := n.WaitExit(letGoWithin)
	if err != nil {
		// If another fault isolates it, it may have nothing to write.
		return fmt.Errorf("%s goes on with a disk that failed: %w", n.Name, err)
	}
	if slices.Contains(codes, code) {
		s.testbed.observe(what, n.Name, 1)
		return nil
	}
	if code == exitHang {
		return fmt.Errorf("%s left because the machine's own disk was too slow", n.Name)
	}
	return broke("I17", "%s ended with code %d, want one of %v: %s", n.Name, code, codes, lastLine(n.LogTail()))
}

func hangLeader(s *injection, ctx context.Context) error {
	n, err := s.takeLeader(ctx)
	if err != nil {
		return err
	}
	return s.hang(n)
}

func hangOne(s *injection, ctx context.Context) error {
	n, err := s.target(ctx)
	if err != nil {
		return err
	}
	return s.hang(n)
}

// goneOne makes a disk fail every operation. The node must end by itself. Afterwards it has the
// synced data.
func goneOne(s *injection, ctx context.Context) error {
	n, err := s.target(ctx)
	if err != nil {
		return err
	}
	d, err := s.diskOf(n)
	if err != nil {
		return err
	}
	s.touch(history.TouchGone, n)
	if err := d.Gone(); err != nil {
		return err
	}
	s.undo(func() error {
		left := s.left(n, diskErrors, exitDisk, exitHang)
		// The disk is restored in any case.
		return errors.Join(left, n.Kill(), d.Remount())
	})
	return nil
}

// fullOne fills a disk. The node may end with a disk error or refuse commands that let the log
// grow, but it must serve again once there is room.
func fullOne(s *injection, ctx context.Context) error {
	n, err := s.target(ctx)
	if err != nil {
		return err
	}
	d, err := s.diskOf(n)
	if err != nil {
		return err
	}
	s.undo(func() error {
		if err := d.Free(); err != nil {
			return err
		}
		if n.Running() {
			return nil
		}
		// A disk may be slow before it reports that it is full.
		return s.left(n, diskErrors, exitDisk, exitHang)
	})
	s.touch(history.TouchFull, n)
	if err := d.Full(); err != nil {
		return err
	}
	s.testbed.observe(fullDisks, n.Name, 1)
	return nil
}

func flipLog(s *injection, ctx context.Context) error { return s.flip(ctx, disk.ClassLog) }

func flipStable(s *injection, ctx context.Context) error { return s.flip(ctx, disk.ClassStable) }

func flipSnapshot(s *injection, ctx context.Context) error { return s.flip(ctx, disk.ClassSnapshot) }

// flip flips one bit in a node's files while the node is down. The node may start, if it does not
// use the bit. Or it refuses to start, and then gets its undamaged files back, in which nothing was
// changed since. It must not serve wrong data, which the clients and the other replicas would
// detect.
func (s *injection) flip(ctx context.Context, class disk.Class) error {
	n, err := s.target(ctx)
	if err != nil {
		return err
	}
	return s.flipOf(n, class)
}

func (s *injection) flipOf(n *harness.Node, class disk.Class) error {
	if err := n.Kill(); err != nil {
		return err
	}
	sound := filepath.Join(filepath.Dir(n.DataDir), "sound-"+n.Name)
	if err := errors.Join(os.RemoveAll(sound), disk.Copy(n.DataDir, sound)); err != nil {
		return err
	}
	s.undo(func() error { return os.RemoveAll(sound) })
	s.touch(history.TouchFlip, n)
	if _, _, err := disk.FlipBit(n.DataDir, class, s.random); err != nil {
		return err
	}
	if err := n.Start(); err != nil {
		return err
	}
	s.undo(func() error {
		// The fault may end at once, so wait until the node has read its files.
		if s.hasRead(n) {
			return nil
		}
		code, err := n.WaitExit(letGoWithin)
		if err != nil {
			return err
		}
		if code < exitDisk || code > exitFormat {
			return broke("I17", "%s ended with code %d after a bit of its %s flipped: %s", n.Name, code, class, lastLine(n.LogTail()))
		}
		s.testbed.observe(refusals, n.Name, 1)
		return disk.Rollback(n.DataDir, sound)
	})
	return nil
}

// hasRead waits until a node has read its files, and reports false if the node ended. It does not
// wait until the node is ready, which another fault may prevent for long. If the node neither reads
// its files nor ends, the demand for service fails.
func (s *injection) hasRead(n *harness.Node) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 4*s.testbed.recovery())
	defer cancel()
	for n.Running() {
		if _, err := n.Get(ctx, "/startupz"); err == nil || !pause(ctx, 50*time.Millisecond) {
			return true
		}
	}
	return false
}

// failSyncs makes the next syncs of the leader fail. The first failure ends the process, which may
// lead again after its start.
func failSyncs(s *injection, ctx context.Context) error {
	n, err := s.takeLeader(ctx)
	if err != nil {
		return err
	}
	s.touch(history.TouchError, n)
	trouble, err := disk.Inject(n.Pid(), disk.Injection{Calls: disk.Syncs, Error: "EIO", From: 1 + s.random.IntN(5)})
	if err != nil {
		return err
	}
	s.undo(func() error { return errors.Join(s.left(n, diskErrors, exitDisk), trouble.Stop()) })
	return nil
}

// slowOne makes every sync of a node take long.
func slowOne(s *injection, ctx context.Context) error {
	n, err := s.target(ctx)
	if err != nil {
		return err
	}
	delay := 50*time.Millisecond + time.Duration(s.random.Int64N(int64(450*time.Millisecond)))
	s.touch(history.TouchSlow, n)
	trouble, err := disk.Inject(n.Pid(), disk.Injection{Calls: disk.Syncs, Delay: delay})
	if err != nil {
		return err
	}
	s.undo(trouble.Stop)
	s.testbed.observe(slowSyncs, n.Name, 1)
	return nil
}
