package terraform

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

var run = flag.Bool("terraform", false, "run Terraform, which must be in the path")

// pluginFolders may hold Terraform providers.
var pluginFolders = []string{
	os.Getenv("SERIATIM_TERRAFORM_PLUGINS"), "/usr/local/share/terraform/plugins", "/usr/share/terraform/plugins", "/opt/tf-plugins",
}

// plugins returns the folder with the AWS provider, or "".
func plugins() string {
	for _, folder := range pluginFolders {
		if found, err := filepath.Glob(filepath.Join(folder, "*", "hashicorp", "aws")); err == nil && folder != "" && len(found) > 0 {
			return folder
		}
	}
	return ""
}

// stepTimeout bounds one command of Terraform, whose provider starts slowly.
const stepTimeout = 5 * time.Minute

// A terraformDir is a folder with a Terraform configuration.
type terraformDir struct{ dir, endpoint string }

// run runs a command of Terraform and returns its output and exit code.
func (w terraformDir) run(t *testing.T, args ...string) ([]byte, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stepTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "terraform", args...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "TF_IN_AUTOMATION=1", "TF_INPUT=0", "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE="+os.DevNull,
		"TF_VAR_endpoint="+w.endpoint, "AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE="+os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE="+os.DevNull)
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatalf("terraform %v: %v\n%s", args, err, out)
	}
	return out, cmd.ProcessState.ExitCode()
}

func (w terraformDir) mustRun(t *testing.T, args ...string) []byte {
	t.Helper()
	out, code := w.run(t, args...)
	if code != 0 {
		t.Fatalf("terraform %v ended with %d:\n%s", args, code, out)
	}
	return out
}

// TestTopics manages every resource of topics that the provider has.
func TestTopics(t *testing.T) {
	t.Parallel()
	apply(t, "testdata", map[string]int{"aws_sns_topic": 2, "aws_sns_topic_policy": 1, "aws_sns_topic_subscription": 3, "aws_sqs_queue": 3})
}

// TestExample applies the example in deploy.
func TestExample(t *testing.T) {
	t.Parallel()
	apply(t, "../../../deploy/terraform", map[string]int{
		"aws_sns_topic": 1, "aws_sns_topic_subscription": 1, "aws_sqs_queue": 2, "aws_sqs_queue_policy": 1,
		"aws_sqs_queue_redrive_allow_policy": 1,
	})
}

// apply applies a configuration, checks that a second plan is empty, and destroys everything.
func apply(t *testing.T, source string, want map[string]int) {
	t.Helper()
	if !*run {
		t.Skip("the provider takes minutes to start: make terraform")
	}
	folder := plugins()
	if folder == "" {
		t.Fatal("no AWS provider for Terraform found: name its folder in SERIATIM_TERRAFORM_PLUGINS")
	}
	dir := t.TempDir()
	binary, err := harness.Build(t.Context(), dir)
	harness.Must(t, err)
	cluster, err := harness.Start(t.Context(), harness.Options{Binary: binary, Dir: dir})
	harness.Must(t, err)
	defer cluster.Close()
	w := terraformDir{dir: filepath.Join(dir, "workspace"), endpoint: cluster.Endpoint()}
	harness.Must(t, os.CopyFS(w.dir, os.DirFS(source)))
	w.mustRun(t, "init", "-plugin-dir="+folder)
	w.mustRun(t, "apply", "-auto-approve", "-no-color")
	// Exit code 2 means that there are changes.
	if out, code := w.run(t, "plan", "-detailed-exitcode", "-no-color"); code != 0 {
		t.Errorf("the second plan ended with %d:\n%s", code, out)
	}
	if diff := cmp.Diff(want, w.resources(t)); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	w.mustRun(t, "destroy", "-auto-approve", "-no-color")
	if left := w.resources(t); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// resources counts the resources of the state by type.
func (w terraformDir) resources(t *testing.T) map[string]int {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(w.dir, "terraform.tfstate"))
	harness.Must(t, err)
	var state struct{ Resources []struct{ Type string } }
	harness.Must(t, json.Unmarshal(content, &state))
	counts := map[string]int{}
	for _, r := range state.Resources {
		counts[r.Type]++
	}
	return counts
}
