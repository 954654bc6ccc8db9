package containers

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

var imageFiles = flag.String("image-files", "", "build context of the image, as make image-files makes it")

const (
	inside    = "SERIATIM_TEST_INSIDE_NAMESPACES"
	image     = "seriatim:test"
	stepLimit = 2 * time.Minute
)

// engine runs podman with all its files in one folder.
type engine struct {
	t    *testing.T
	dir  string
	made []string // containers
}

// newEngine skips the test on a machine without podman.
func newEngine(t *testing.T) *engine {
	t.Helper()
	if *imageFiles == "" {
		t.Skip("containers are run by make test-containers only")
	}
	if os.Getuid() != 0 {
		t.Skip("containers on a network of their own need root")
	}
	for _, tool := range []string{"podman", "buildah", "unshare"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s here: apt-get install podman buildah crun netavark", tool)
		}
	}
	e := &engine{t: t, dir: t.TempDir()}
	t.Cleanup(func() {
		for _, name := range e.made {
			if out, err := e.try("podman", "rm", "--force", "--time", "1", name); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}
	})
	return e
}

// reenter runs the test again in new namespaces, and reports whether it did. They have a cgroup
// file system of version 2, which crun needs.
func reenter(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inside) != "" {
		return false
	}
	const script = `mount --make-rprivate / && umount -R /sys/fs/cgroup && mount -t tmpfs none /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && ip link set lo up && exec "$0" "$@"`
	program, err := os.Executable()
	harness.Must(t, err)
	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--net", "sh", "-c", script, program,
		"-test.run", "^"+t.Name()+"$", "-test.v", "-image-files", *imageFiles)
	cmd.Env = append(os.Environ(), inside+"=1")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatalf("in its namespaces: %v", err)
	}
	return true
}

// try runs a tool of the engine.
func (e *engine) try(tool string, args ...string) (string, error) {
	storage := []string{"--root", filepath.Join(e.dir, "storage"), "--runroot", filepath.Join(e.dir, "run"), "--storage-driver", "vfs"}
	if tool == "podman" {
		storage = append(storage, "--cgroup-manager", "cgroupfs", "--network-config-dir", filepath.Join(e.dir, "networks"),
			"--volumepath", filepath.Join(e.dir, "volumes"), "--log-level", "error")
	}
	ctx, cancel := context.WithTimeout(context.Background(), stepLimit) // the context of the test has ended during cleanup
	defer cancel()
	cmd := exec.CommandContext(ctx, tool, append(storage, args...)...)
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	if err := cmd.Run(); err != nil {
		return words.String(), fmt.Errorf("%s %s: %w: %s", tool, strings.Join(args, " "), err, words.String())
	}
	return strings.TrimSpace(out.String()), nil
}

func (e *engine) must(tool string, args ...string) string {
	e.t.Helper()
	out, err := e.try(tool, args...)
	harness.Must(e.t, err)
	return out
}

// confined are the flags of every container, which restrict it as deploy/container and the chart
// do. They do not raise the limits of the test's own process.
var confined = []string{
	"--cgroups=disabled", "--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096",
	"--read-only", "--read-only-tmpfs=false", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
}

// once runs a container until it ends.
func (e *engine) once(flags []string, args ...string) string {
	e.t.Helper()
	return e.must("podman", append(append(append([]string{"run", "--rm"}, confined...), append(flags, image)...), args...)...)
}

// start starts a node at an address.
func (e *engine) start(name, address string, settings map[string]string) {
	e.t.Helper()
	args := append([]string{"run", "--detach", "--name", name, "--network", "nodes", "--ip", address, "--volume",
		name + ":/var/lib/seriatim", "--volume", "secrets:/etc/seriatim:ro", "--env", "SERIATIM_NODE_NAME=" + name}, confined...)
	for key, value := range settings {
		args = append(args, "--env", key+"="+value)
	}
	e.must("podman", append(args, image, "server")...)
	e.made = append(e.made, name)
}

// lose kills a node and removes its container; its disk stays.
func (e *engine) lose(name string) {
	e.t.Helper()
	e.must("podman", "kill", name)
	e.must("podman", "rm", "--force", name)
}

// await repeats a command of the program in a container until it succeeds.
func (e *engine) await(name string, command ...string) string {
	e.t.Helper()
	deadline := time.Now().Add(stepLimit)
	for {
		out, err := e.try("podman", append([]string{"exec", name, "seriatim"}, command...)...)
		if err == nil {
			return out
		}
		if time.Now().After(deadline) {
			log, _ := e.try("podman", "logs", "--tail", "20", name)
			e.t.Fatalf("%v\n%s", err, log)
		}
	}
}
