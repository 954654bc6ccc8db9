package harness

import (
	"os/exec"
	"runtime"
	"syscall"
)

// spawner starts processes that the kernel kills when the test process dies, so a test that
// exceeds its time limit leaves no server behind. The kernel does that when the forking thread
// ends, so one thread starts all processes of a cluster.
type spawner struct {
	requests chan spawnRequest // unbuffered: a start waits for its turn
	done     chan struct{}
}

type spawnRequest struct {
	cmd    *exec.Cmd
	result chan error // capacity 1: the answer never blocks the thread
}

func newSpawner() *spawner {
	s := &spawner{requests: make(chan spawnRequest), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for r := range s.requests {
			r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			r.result <- r.cmd.Start()
		}
	}()
	return s
}

func (s *spawner) start(cmd *exec.Cmd) error {
	r := spawnRequest{cmd: cmd, result: make(chan error, 1)}
	s.requests <- r
	return <-r.result
}

func (s *spawner) close() {
	close(s.requests)
	<-s.done
}
