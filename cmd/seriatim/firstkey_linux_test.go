package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudo terminal and returns both ends.
func terminal(t *testing.T) (ours, end *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal can be made here: %v", err)
	}
	t.Cleanup(func() { ours.Close() })
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	end, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return ours, end
}

// A server on a terminal prints the first key there, once, and nowhere else. The key works.
func TestFirstKeyOnATerminal(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	base, dir := freeBase(t, 1), t.TempDir()
	start := func() (shown *lines, stop func()) {
		ours, end := terminal(t)
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		at := func(offset int) string { return fmt.Sprintf("127.0.0.1:%d", base+offset) }
		cmd := exec.Command(self, "server", "--node-name", "n1", "--data-dir", dir, "--log-segment-size", "4MiB",
			"--client-addr", at(0), "--admin-addr", at(1), "--peer-addr", at(2), "--gossip-addr", at(3))
		cmd.Env = append(os.Environ(), runMain+"=1")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = end, end, end
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		end.Close()
		shown = collect(ours)
		ended := false
		stop = func() {
			if !ended {
				ended = true
				_ = cmd.Process.Signal(syscall.SIGTERM)
				_ = cmd.Wait() // the exit code says nothing here
			}
		}
		t.Cleanup(stop)
		shown.wait(t, `level=INFO msg=ready`, 1)
		return shown, stop
	}
	shown, stop := start()
	id := shown.wait(t, `^AWS_ACCESS_KEY_ID=(\S+?)\r?$`, 1)[1]
	secret := shown.wait(t, `^AWS_SECRET_ACCESS_KEY=(\S+?)\r?$`, 1)[1]
	t.Setenv("AWS_ACCESS_KEY_ID", id)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	must(t, "queue", "create", "orders.fifo", "--endpoint", endpoint(base, 1))
	if _, err := os.Stat(filepath.Join(dir, "first-key")); err == nil {
		t.Error("the key is in a file as well")
	}
	stop()
	if n := strings.Count(shown.text(), secret); n != 1 {
		t.Errorf("the secret was shown %d times", n)
	}
	again, stop := start()
	must(t, "queue", "list", "--endpoint", endpoint(base, 1))
	stop()
	if strings.Contains(again.text(), "AWS_SECRET_ACCESS_KEY") {
		t.Error("a key was shown again after a restart")
	}
}

// The test kills a process at several moments while it forms a cluster. After the next start the
// cluster has exactly one first key, which is in the file.
func TestKilledWhileBeginning(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	// Lines and files that show the progress of the process.
	for _, moment := range []struct {
		name string
		come func(p *process, dir string) bool
	}{
		{"bootstrapped", func(p *process, _ string) bool { return strings.Contains(p.err.text(), "bootstrapped the cluster") }},
		{"leading", func(p *process, _ string) bool { return strings.Contains(p.err.text(), `"msg":"leading"`) }},
		{"in the log", func(_ *process, dir string) bool { return logHasKey(dir) }},
		{"logged", func(_ *process, dir string) bool {
			_, err := os.Stat(filepath.Join(dir, "first-key"))
			return err == nil
		}},
	} {
		t.Run(moment.name, func(t *testing.T) {
			base, dir := freeBase(t, 1), t.TempDir()
			p := startServer(t, base, dir, nil, "--auth=true")
			for end := time.Now().Add(waitMax); !moment.come(p, dir); time.Sleep(100 * time.Microsecond) {
				if time.Now().After(end) {
					t.Fatal("the moment did not come")
				}
			}
			p.signal(t, syscall.SIGKILL)
			p.wait(t)
			p = startServer(t, base, dir, nil, "--auth=true")
			p.err.wait(t, `"msg":"ready"`, 1)
			keyEnvironment(t, filepath.Join(dir, "first-key"))
			must(t, "queue", "create", "orders.fifo", "--endpoint", endpoint(base, 1))
			listed := must(t, "key", "list", "--admin", "127.0.0.1:"+strconv.Itoa(base+1))
			if ids := regexp.MustCompile(`\bSRTM\w{12,}`).FindAllString(listed, -1); len(ids) != 1 ||
				ids[0] != os.Getenv("AWS_ACCESS_KEY_ID") {
				t.Errorf("the cluster has the keys %v, the file has %s", ids, os.Getenv("AWS_ACCESS_KEY_ID"))
			}
			p.signal(t, syscall.SIGTERM)
			p.wait(t)
		})
	}
}

// logHasKey reports whether the id of an access key is in the log of a node.
func logHasKey(dir string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "group-0", "log", "*.wal"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(text), "SRTM") {
			return true
		}
	}
	return false
}
