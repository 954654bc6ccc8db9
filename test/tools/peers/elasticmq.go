package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// elasticProject is a Maven project with the files to fetch.
const elasticProject = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>peers</groupId><artifactId>elasticmq</artifactId><version>1</version>
  <dependencies><dependency><groupId>org.elasticmq</groupId><artifactId>elasticmq-server_2.13</artifactId><version>%s</version></dependency></dependencies>
</project>
`

const elasticVersion = "1.6.9"

const elasticConfig = `include classpath("application.conf")
node-address { protocol = http, host = "127.0.0.1", port = %[1]d, context-path = "" }
rest-sqs { enabled = true, bind-hostname = "127.0.0.1", bind-port = %[1]d, sqs-limits = relaxed }
rest-stats { enabled = false }
`

// javaWarmUp is the time of load before the measurement. A Java machine is much slower until it
// has compiled its hot code.
const javaWarmUp = 10 * time.Second

// startElasticMQ starts one process of ElasticMQ, which keeps everything in memory.
func startElasticMQ(ctx context.Context, dir string, o options) (contender, description, error) {
	d := description{
		Name: "ElasticMQ, one process", Version: elasticVersion, Protocol: "SQS JSON over HTTP/1.1",
		Durable: "nothing: one process, in memory only", Command: "java -cp 'jars/*' org.elasticmq.server.Main",
	}
	java, err := firstProgram([]string{"java"})
	if err == nil {
		_, err = firstProgram([]string{"mvn"})
	}
	if err != nil {
		return nil, d, errors.New("not installed: it needs java and mvn")
	}
	project, config := filepath.Join(dir, "pom.xml"), filepath.Join(dir, "elasticmq.conf")
	ports, err := freePorts(1)
	if err != nil {
		return nil, d, err
	}
	if err := errors.Join(os.WriteFile(project, fmt.Appendf(nil, elasticProject, elasticVersion), 0o600),
		os.WriteFile(config, fmt.Appendf(nil, elasticConfig, ports[0]), 0o600)); err != nil {
		return nil, d, fmt.Errorf("configuration of ElasticMQ: %w", err)
	}
	fetch := exec.CommandContext(ctx, "mvn", "-q", "-B", "-f", project, "dependency:copy-dependencies",
		"-DoutputDirectory="+filepath.Join(dir, "jars"))
	if fetch.Run() != nil {
		return nil, d, errors.New("not installed: Maven could not fetch org.elasticmq:elasticmq-server_2.13")
	}
	s, err := startServer(dir, "elasticmq",
		exec.Command(java, "-Xmx2g", "-Dconfig.file="+config, "-cp", filepath.Join(dir, "jars", "*"), "org.elasticmq.server.Main"), 0)
	if err != nil {
		return nil, d, err
	}
	p := &sqsServers{binary: o.binary, endpoints: []string{fmt.Sprintf("http://127.0.0.1:%d", ports[0])}, servers: []*server{s}}
	if err := p.ready(ctx); err != nil {
		return nil, d, err
	}
	for _, w := range workloads() {
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
