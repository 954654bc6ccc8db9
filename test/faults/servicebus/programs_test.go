package servicebus

import (
	"bufio"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

var (
	celery  = flag.String("celery", "", "interpreter with Celery; empty: no program that others use")
	gocloud = flag.String("gocloud", "", "program built from programs/gocloud")
	camel   = flag.String("camel", "", "class path of programs/camel")
)

// jobs is the number of messages that a program sends and handles.
const jobs = 100

// Programs that others have written on the SDKs handle every message, though leaders are killed.
func TestPrograms(t *testing.T) {
	if *celery == "" {
		t.Skip("it needs programs of others: run make faults-servicebus-programs")
	}
	// A port on the loopback interface refuses names that it does not know.
	cluster := harness.New(t, harness.Options{Binary: binary, Args: []string{"--allow-origin", "https://seriatim.example.net"}})
	front := newFront(t, cluster, nil)
	queues := cluster.NewSQS(cluster.Rotate())
	for _, name := range []string{"gocloud.fifo", "camel.fifo"} { // Celery makes its queue
		_, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: map[string]string{
			"FifoQueue": "true", "CompatibilityProfile": "servicebus", "MessageGroupIdMode": "Optional",
			"DeduplicationEnabled": "false", // the programs give messages no ids
		}})
		harness.Must(t, err)
	}
	t.Run("celery", func(t *testing.T) {
		command := exec.CommandContext(t.Context(), *celery, "run.py", fmt.Sprint(jobs))
		command.Dir = "programs/celery"
		command.Env = append(os.Environ(), "PYTHONPATH=.", "BROKER=azureservicebus://k:s@seriatim.example.net")
		command.Env = append(command.Env, secureFront(t, cluster)...)
		checkProgram(t, cluster, command)
	})
	t.Run("gocloud", func(t *testing.T) {
		checkProgram(t, cluster, exec.CommandContext(t.Context(), *gocloud, connection(front), "gocloud", fmt.Sprint(jobs)))
	})
	t.Run("camel", func(t *testing.T) {
		checkProgram(t, cluster, exec.CommandContext(t.Context(), "java", "-Xmx200m", "-cp", *camel, "Program", connection(front),
			"camel", fmt.Sprint(jobs)))
	})
}

// secureFront returns variables with an address that has TLS, as Celery needs, and the certificate of
// its authority.
func secureFront(t *testing.T, cluster *harness.Cluster) []string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "certificates")
	for _, args := range [][]string{{"ca"}, {"issue", "front", "--host", "seriatim.example.net"}} {
		args = slices.Concat([]string{"cert"}, args, []string{"--dir", dir})
		text, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	own, err := tls.LoadX509KeyPair(filepath.Join(dir, "front.crt"), filepath.Join(dir, "front.key"))
	harness.Must(t, err)
	address := newFront(t, cluster, &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12})
	authority := filepath.Join(dir, "ca.crt")
	return []string{"FRONT=" + address, "AUTHORITY=" + authority, "REQUESTS_CA_BUNDLE=" + authority}
}

// checkProgram runs a program until it has handled all its messages. Two leaders are killed meanwhile.
func checkProgram(t *testing.T, cluster *harness.Cluster, command *exec.Cmd) {
	t.Helper()
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	harness.Must(t, err)
	output, err := command.StdoutPipe()
	harness.Must(t, err)
	harness.Must(t, command.Start())
	handled, times := map[int]bool{}, 0
	lines := bufio.NewScanner(output)
	for len(handled) < jobs && lines.Scan() {
		var number int
		if _, err := fmt.Sscanf(lines.Text(), "handled %d", &number); err != nil {
			continue // a line of the program itself
		}
		handled[number], times = true, times+1
		if times == jobs/5 || times == jobs/2 {
			killLeader(t, cluster)
		}
	}
	harness.Must(t, input.Close())
	_, err = io.Copy(io.Discard, output)
	harness.Check(t, err)
	err = command.Wait()
	t.Logf("handled %d messages, %d deliveries, end: %v", len(handled), times, err)
	if len(handled) < jobs || err != nil {
		t.Errorf("%d of %d messages were handled, %v", len(handled), jobs, err)
	}
}
