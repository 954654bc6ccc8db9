package disk

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// syncerVariable makes this test binary a process that syncs when told to.
const syncerVariable = "SERIATIM_TEST_SYNCER"

func TestMain(m *testing.M) {
	if path := os.Getenv(syncerVariable); path != "" {
		syncer(path)
		return
	}
	os.Exit(m.Run())
}

// syncer answers each line with the result of a sync.
func syncer(path string) {
	file, err := os.Create(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println("sync:", file.Sync())
	}
}

func TestInjectedErrorReachesARunningProcess(t *testing.T) {
	if err := CanInject(); err != nil {
		t.Skipf("this machine cannot trace: %v", err)
	}
	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), syncerVariable+"="+filepath.Join(t.TempDir(), "file"))
	in, err := victim.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := victim.Wait(); err != nil {
			t.Error(err)
		}
	})
	answers := bufio.NewReader(out)
	sync := func() string {
		t.Helper()
		if _, err := fmt.Fprintln(in); err != nil {
			t.Fatal(err)
		}
		line, err := answers.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	if got := sync(); !strings.Contains(got, "<nil>") {
		t.Fatalf("before the trouble: %s", got)
	}
	trouble, err := Inject(victim.Process.Pid, Injection{Calls: Syncs, Error: "EIO"})
	if err != nil {
		t.Fatal(err)
	}
	if got := sync(); !strings.Contains(got, "input/output error") {
		t.Errorf("during the trouble: %s", got)
	}
	if err := trouble.Stop(); err != nil {
		t.Fatal(err)
	}
	if got := sync(); !strings.Contains(got, "<nil>") {
		t.Errorf("after the trouble: %s", got)
	}
}
