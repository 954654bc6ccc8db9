package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/Azure/go-amqp"
)

const artemisVersion = "2.40.0"

// startArtemis starts one broker, which syncs its journal before it answers. It makes queues when a
// link names them.
func startArtemis(ctx context.Context, dir string, o options) (contender, description, error) {
	d := description{
		Name: "ActiveMQ Artemis, one broker", Version: artemisVersion, Protocol: "AMQP 1.0",
		Durable: "written and synced to the journal of one process; no replica", Command: "artemis run",
	}
	if _, err := firstProgram([]string{"java"}); err != nil {
		return nil, d, errors.New("not installed: it needs java and mvn")
	}
	fetch := exec.CommandContext(ctx, "mvn", "-q", "-B", "dependency:copy", "-DoutputDirectory="+dir,
		"-Dartifact=org.apache.activemq:apache-artemis:"+artemisVersion+":tar.gz:bin")
	if fetch.Run() != nil {
		return nil, d, errors.New("not installed: Maven could not fetch org.apache.activemq:apache-artemis")
	}
	ports, err := freePorts(1)
	if err != nil {
		return nil, d, err
	}
	broker := filepath.Join(dir, "broker")
	for _, args := range [][]string{
		{"tar", "-xzf", filepath.Join(dir, "apache-artemis-"+artemisVersion+"-bin.tar.gz"), "-C", dir},
		{filepath.Join(dir, "apache-artemis-"+artemisVersion, "bin", "artemis"), "create", broker, "--silent", "--user", "peers",
			"--password", "peers", "--allow-anonymous", "--nio", "--no-autotune", "--no-web", "--no-stomp-acceptor",
			"--no-hornetq-acceptor", "--no-mqtt-acceptor", "--no-amqp-acceptor", "--host", "127.0.0.1",
			"--default-port", fmt.Sprint(ports[0])},
	} {
		if text, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return nil, d, fmt.Errorf("set up Artemis: %w: %s", err, strings.TrimSpace(string(text)))
		}
	}
	run := exec.Command(filepath.Join(broker, "bin", "artemis"), "run")
	run.Env = append(os.Environ(), "JAVA_ARGS=-Xms1g -Xmx1g")
	s, err := startServer(dir, "artemis", run, o.disk)
	if err != nil {
		return nil, d, err
	}
	p := &amqpPeer{
		addresses: []string{fmt.Sprint("amqp://127.0.0.1:", ports[0])}, servers: []*server{s},
		options: &amqp.ConnOptions{SASLType: amqp.SASLTypePlain("peers", "peers")},
		declare: func(_ context.Context, name string) (string, error) { return name, nil },
		remove:  func(context.Context, string) error { return nil }, // it removes a queue without links
	}
	if err := p.ready(ctx); err != nil {
		err = fmt.Errorf("%w\n%s", err, s.tail())
		p.close()
		return nil, d, err
	}
	for _, w := range linkWorkloads() {
		if w.Clients != 64 {
			continue
		}
		if _, err := p.measure(ctx, w, javaWarmUp); err != nil {
			p.close()
			return nil, d, fmt.Errorf("warm-up: %w", err)
		}
	}
	return p, d, nil
}
