package server

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// unit reads the sample unit: the values of each key.
func unit(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/systemd/seriatim.service")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), "="); found && !strings.HasPrefix(key, "#") {
			values[key] = append(values[key], value)
		}
	}
	return values
}

// TestSystemdUnit: the unit agrees with the program about exit codes that prevent a restart, and
// about notifications.
func TestSystemdUnit(t *testing.T) {
	u := unit(t)
	if !slices.Equal(u["Type"], []string{"notify"}) || !slices.Equal(u["TimeoutStartSec"], []string{"infinity"}) {
		t.Errorf("Type %v, TimeoutStartSec %v", u["Type"], u["TimeoutStartSec"])
	}
	var want []string
	for code := 1; code < 128; code++ {
		if !curable(endedWith(t, code)) {
			want = append(want, strconv.Itoa(code))
		}
	}
	if got := strings.Join(u["RestartPreventExitStatus"], " "); got != strings.Join(want, " ") {
		t.Errorf("not started again after %s, want %v", got, want)
	}
	if slices.Contains(want, "2") || !slices.Contains(want, strconv.Itoa(int(exit.Config))) ||
		!slices.Contains(want, strconv.Itoa(int(cluster.ExitRemoved))) {
		t.Errorf("not cured by a start: %v", want)
	}
	// A setting names each credential file.
	environment := strings.Join(u["Environment"], " ")
	for _, credential := range u["LoadCredential"] {
		name, _, _ := strings.Cut(credential, ":")
		if !strings.Contains(environment, "=%d/"+name) {
			t.Errorf("%s is in no setting of %s", name, environment)
		}
	}
	known := map[string]bool{}
	for _, s := range settings() {
		known[s.env] = true
	}
	for variable := range strings.FieldsSeq(environment) {
		if name, _, _ := strings.Cut(variable, "="); !known[name] && name != "GOMEMLIMIT" {
			t.Errorf("%s is no setting", name)
		}
	}
	checkUnitMemory(t, u, environment)
}

// checkUnitMemory checks that state-bytes-max is below GOMEMLIMIT, and that below the limit.
func checkUnitMemory(t *testing.T, u map[string][]string, environment string) {
	t.Helper()
	file, err := fileLayer("../../../deploy/systemd/seriatim.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, goal, _ := strings.Cut(environment, "GOMEMLIMIT=")
	goal, _, _ = strings.Cut(goal, " ")
	var sizes [3]Size
	for i, text := range []string{file.values["state-bytes-max"], goal, strings.Replace(strings.Join(u["MemoryMax"], " "), "G", "GiB", 1)} {
		if sizes[i], err = parseSize(text); err != nil {
			t.Fatal(err)
		}
	}
	if state, aim, limit := sizes[0], sizes[1], sizes[2]; state == 0 || state > aim*2/3 || aim > limit*9/10 {
		t.Errorf("state %v, aim %v, limit %v", state, aim, limit)
	}
}

// TestSystemdVerify: systemd accepts the unit. The test needs systemd.
func TestSystemdVerify(t *testing.T) {
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze here")
	}
	text, err := os.ReadFile("../../../deploy/systemd/seriatim.service")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "seriatim.service")
	// systemd checks that the program exists.
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "/usr/local/bin/seriatim", program)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(tool, "verify", "--man=no", path).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// endedWith returns the error of a process that ends with this exit code.
func endedWith(t *testing.T, code int) error {
	t.Helper()
	return exec.Command("sh", "-c", "exit "+strconv.Itoa(code)).Run()
}
