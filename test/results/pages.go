package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const folder = "docs/results"

// A page collects the text of one document.
type page struct{ bytes.Buffer }

func (p *page) say(format string, args ...any) { fmt.Fprintf(&p.Buffer, format+"\n", args...) }

func (p *page) head(columns ...string) {
	p.say("| %s |\n|%s", strings.Join(columns, " | "), strings.Repeat(" --- |", len(columns)))
}

func (p *page) row(cells ...string) { p.say("| %s |", strings.Join(cells, " | ")) }

const written = "`make results` writes this page from the records; do not edit it.\n"

// pages returns the files of docs/results.
func pages(root string, all []line) (map[string][]byte, error) {
	files := map[string][]byte{}
	performance(all, files)
	faults(all, files)
	if err := compatibility(root, files); err != nil {
		return nil, err
	}
	return files, nil
}

// part returns the lines of a part of the pages, in the order of the record.
func part(all []line, name string) []line {
	var found []line
	for _, l := range all {
		if l.Part == name {
			found = append(found, l)
		}
	}
	return found
}

func performance(all []line, files map[string][]byte) {
	p := &page{}
	p.say("# Performance\n\nSee how fast seriatim is, alone and beside other queues, and how much memory it takes. %s", written)
	p.say("A figure is the median of its runs. The lowest and the highest run follow in brackets.")
	p.say("Servers and load share one machine and its loopback interface. Each node syncs before it counts, and " +
		"bodies have 256 bytes unless a line says otherwise.")
	p.say("The speed of the machine changes by a factor of two within minutes: compare figures of one table only.\n")
	p.say("## Beside other queues\n")
	p.say("The servers take turns under the same load. NATS JetStream runs with three replicas that sync before they answer.")
	p.say("The Redis stream syncs on its primary, waits for one replica, and looks for no duplicates.")
	p.say("Clients of NATS share four connections. Other clients have a connection each, unless the line says that they share.\n")
	files["rates.svg"] = beside(p, part(all, "peers"), "Messages per second")
	p.say("\n![Messages per second of each workload](rates.svg)\n")
	p.say("## With a slow disk for each server\n\nA sync takes 1.5 ms on these disks.\n")
	files["disks.svg"] = beside(p, part(all, "disks"), "Messages per second, a sync takes 1.5 ms")
	p.say("\n![Messages per second with slow disks](disks.svg)\n")
	p.say("## Streams of the native API\n")
	beside(p, part(all, "streams"), "")
	links(p, part(all, "links"))
	p.say("\n## Large state, failover, memory\n")
	for _, l := range part(all, "goals") {
		p.say("### %s\n\nCommit `%s`, %s, `%s`.\n", strings.ToUpper(l.Workload[:1])+l.Workload[1:], l.Commit, l.Machine, l.Command)
		p.head("Figure", "Measured", "Goal", "Reached")
		for _, f := range l.Figures {
			p.row(f.Name, f.String(), f.Goal, reached(f))
		}
		p.say("")
	}
	auth(p, part(all, "auth"))
	p.say("## Repeat it\n")
	p.say("| Part | Command |\n| --- | --- |\n| Beside other queues | `make bench-peers` |\n| With a slow disk | " +
		"`make bench-peers DISK=1.5ms` |\n| Streams | `make bench-streams` |\n| Links of AMQP | `make bench-links` |")
	p.say("| Large state, failover, memory | `make bench-goals BENCH_SCALE=1` |\n| Signatures and TLS | `make " +
		"bench-auth` |\n| One workload | `seriatim bench`, against your own cluster |\n")
	p.say("Then `make results` writes this page. The records are " +
		"[peers.json](../../test/bench/results/peers.json), [disks.json](../../test/bench/results/disks.json), " +
		"[streams.json](../../test/bench/results/streams.json), [links.json](../../test/bench/results/links.json), " +
		"[goals.json](../../test/bench/results/goals.json) " +
		"and [record.jsonl](../../test/results/record.jsonl).")
	files["performance.md"] = p.Bytes()
}

func reached(f figure) string {
	switch {
	case f.Goal == "":
		return ""
	case f.Missed:
		return "no"
	}
	return "yes"
}

// beside writes the table of rates of one record, and returns its plot.
func beside(p *page, lines []line, heading string) []byte {
	var systems, workloads []string
	for _, l := range lines {
		if !slices.Contains(systems, l.System) {
			systems = append(systems, l.System)
		}
		if !slices.Contains(workloads, l.Workload) {
			workloads = append(workloads, l.Workload)
		}
	}
	if len(lines) > 0 {
		p.say("Commit `%s`, %s. A ratio above 1 means that seriatim is faster.\n", lines[0].Commit, lines[0].Machine)
	}
	columns := []string{"Workload"}
	for i, s := range systems {
		columns = append(columns, s+", messages/s", "p50 / p99, ms")
		if i > 0 {
			columns = append(columns, "Ratio")
		}
	}
	p.head(columns...)
	var rows []row
	for _, w := range workloads {
		cells, bars := []string{w}, make([]figure, len(systems))
		for i, s := range systems {
			at := slices.IndexFunc(lines, func(l line) bool { return l.System == s && l.Workload == w })
			if at < 0 {
				cells = append(cells, "", "")
				if i > 0 {
					cells = append(cells, "")
				}
				continue
			}
			rate, _ := lines[at].figure("messages")
			p50, _ := lines[at].figure("p50")
			p99, _ := lines[at].figure("p99")
			cells = append(cells, strings.TrimSuffix(rate.String(), " /s"), number(p50.Value)+" / "+number(p99.Value))
			if ratio, ok := lines[at].figure("ratio"); ok {
				cells = append(cells, number(ratio.Value))
			} else if i > 0 {
				cells = append(cells, "")
			}
			bars[i] = rate
		}
		p.row(cells...)
		rows = append(rows, row{w, bars})
	}
	return plot(heading, systems, rows)
}

// links writes the table of links of AMQP 1.0 beside other protocols.
func links(p *page, lines []line) {
	p.say("\n## Links of AMQP 1.0\n\nEach link has one unsettled message at a time, and four connections carry them. Each client of " +
		"HTTP has a connection of its own. The generators differ, so look at the time of the servers, too: it is the " +
		"processor time of all nodes for a message.\n")
	p.say("Artemis is one broker without a replica. The others are three nodes, of which two have synced a message before the answer.\n")
	p.say("Commit `%s`, %s.\n", lines[0].Commit, lines[0].Machine)
	p.head("Workload", "Server", "Messages/s", "p50 / p99, ms", "Servers' time, µs")
	for _, l := range lines {
		rate, _ := l.figure("messages")
		p50, _ := l.figure("p50")
		p99, _ := l.figure("p99")
		server, _ := l.figure("servers")
		p.row(l.Workload, l.System, strings.TrimSuffix(rate.String(), " /s"), number(p50.Value)+" / "+number(p99.Value), server.String())
	}
}

func auth(p *page, lines []line) {
	p.say("## Signatures and TLS\n\nThe settings are measured in turns, on clusters that run at the same time. The clients' " +
		"work for signatures and TLS is part of the figures.\n")
	p.head("Workload", "Messages/s", "Share of the rate without auth", "Goal", "p50, ms", "p99, ms")
	for _, l := range lines {
		rate, ok := l.figure("messages")
		if !ok {
			continue
		}
		share, _ := l.figure("share of the rate without auth")
		p50, _ := l.figure("p50")
		p99, _ := l.figure("p99")
		p.row(l.Workload, strings.TrimSuffix(rate.String(), " /s"), share.String(), share.Goal, number(p50.Value), number(p99.Value))
	}
	p.say("")
	for _, l := range lines {
		if f, ok := l.figure("time for a send of 256 bytes"); ok {
			p.say("Commit `%s`. A node verifies the signature of a send of 256 bytes in %s. The goal is %s.\n", l.Commit, f, f.Goal)
		}
	}
}

// shown is the number of faults in the table and the plot of recoveries.
const shown = 25

func faults(all []line, files map[string][]byte) {
	p := &page{}
	p.say("# Faults\n\nSee which faults were tried, what was lost, and how long service stopped. %s", written)
	p.say("Real clients call a cluster of real processes while processes, disks, networks and clocks fail. " +
		"Checkers then compare the clients' histories and the log with the [guarantees](../explanation/guarantees.md).")
	p.say("A run passes if no guarantee is violated and every kind of fault happened often enough. Earlier runs " +
		"found bugs; git has their fixes and tests.\n")
	p.say("## Runs\n")
	for _, name := range []string{"soak", "power", "crash"} {
		for _, l := range part(all, name) {
			p.say("### %s\n\nCommit `%s`, %s. Command: `%s`. Verdict: **%s**.\n", strings.ToUpper(l.Workload[:1])+l.Workload[1:], l.Commit,
				l.Machine, l.Command, l.Verdict)
			p.head("Count", "Value")
			for _, f := range l.Figures {
				p.row(strings.ToUpper(f.Name[:1])+f.Name[1:], f.String())
			}
			p.say("")
		}
	}
	recoveries := part(all, "recovery")
	slices.SortStableFunc(recoveries, func(a, b line) int {
		x, _ := a.figure("silent, median")
		y, _ := b.figure("silent, median")
		return int(100*y.Value) - int(100*x.Value)
	})
	if len(recoveries) > 0 {
		p.say("## Time to recover\n\nCommit `%s`. Command: `%s`. Up to three faults overlap, so a fault may have another's time.",
			recoveries[0].Commit, recoveries[0].Command)
		p.say("*Silent* is the longest time without an acknowledged send, including the time that the fault lasts. " +
			"*Healed* is the time from the end of the fault until every node serves.")
		p.say("The table has the %d faults with the longest median; the record has all %d.\n", shown, len(recoveries))
		p.head("Fault", "Times", "Silent, median", "Silent, worst", "Healed, median", "Healed, worst")
		var rows []row
		for _, l := range recoveries[:min(shown, len(recoveries))] {
			cells := []string{l.Workload}
			for _, f := range l.Figures {
				cells = append(cells, f.String())
			}
			p.row(cells...)
			median, _ := l.figure("silent, median")
			worst, _ := l.figure("silent, worst")
			rows = append(rows, row{l.Workload, []figure{median, worst}})
		}
		files["recovery.svg"] = plot("Longest time without an acknowledged send", []string{"median", "worst"}, rows)
		p.say("\n![Longest time without an acknowledged send, of each fault](recovery.svg)\n")
	}
	tests := part(all, "selftest")
	p.say("## The checkers find planted bugs\n\n`make faults-selftest` plants each of %d bugs in a server and "+
		"plays a script that shows it. The named checkers must report it; without the bug all must stay silent.", len(tests))
	if len(tests) > 0 {
		p.say("Commit `%s`: %d of %d found, no report without them.\n", tests[0].Commit, len(tests), len(tests))
	}
	p.head("Planted bug", "Found by")
	for _, l := range tests {
		p.row(l.Workload, strings.TrimPrefix(l.Verdict, "found by "))
	}
	p.say("\n## Repeat it\n\nEach heading above names its command. A run leaves its history, a report and " +
		"pictures in `bin/faults`. `make faults-check HISTORY=folder` checks a stored run again.")
	p.say("The record is [record.jsonl](../../test/results/record.jsonl).")
	files["faults.md"] = p.Bytes()
}

var (
	action  = regexp.MustCompile(`aws\.Line\{Name: "(\w+)"`)
	version = regexp.MustCompile(`<awssdk\.version>([^<]+)<`)
)

// compatibility lists the actions with their conformance tests, and the clients that the
// conformance suite runs with the versions that it installs.
func compatibility(root string, files map[string][]byte) error {
	p := &page{}
	p.say("# Compatibility\n\nSee which clients and actions the conformance suite tests. %s", written)
	p.say("`make test` runs the conformance tests with the AWS SDK for Go and with raw requests. `make " +
		"conformance` runs the clients below against a three-node cluster.\n")
	p.say("## Clients\n")
	p.head("Client", "Version that the suite installs")
	suite := filepath.Join(root, "test/api/conformance")
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(suite, name))
		if err != nil {
			return ""
		}
		return string(data)
	}
	p.row("boto3, AWS JSON", requirement(read("python/requirements-current.txt"), "boto3"))
	p.row("boto3, AWS Query", requirement(read("python/requirements-query.txt"), "boto3"))
	p.row("AWS CLI", requirement(read("python/requirements-current.txt"), "awscli"))
	p.row("Celery", requirement(read("python/requirements-celery.txt"), "celery"))
	p.row("Azure Service Bus SDK for Python", requirement(read("servicebus-python/requirements.txt"), "azure-servicebus"))
	if m := regexp.MustCompile(`"@azure/service-bus": "([^"]+)"`).FindStringSubmatch(read("servicebus-js/package.json")); m != nil {
		p.row("Azure Service Bus SDK for JavaScript", m[1])
	}
	if m := regexp.MustCompile(`<servicebus.version>([^<]+)<`).FindStringSubmatch(read("servicebus-java/pom.xml")); m != nil {
		p.row("Azure Service Bus SDK for Java", m[1])
	}
	if m := regexp.MustCompile(`azservicebus (\S+)`).FindStringSubmatch(read("servicebus-go/go.mod")); m != nil {
		p.row("Azure Service Bus SDK for Go", m[1])
	}
	if m := version.FindStringSubmatch(read("java/pom.xml")); m != nil {
		p.row("AWS SDK for Java 2", m[1])
	}
	if m := regexp.MustCompile(`"@aws-sdk/client-sqs": "([^"]+)"`).FindStringSubmatch(read("js/package.json")); m != nil {
		p.row("AWS SDK for JavaScript 3", m[1])
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	if m := regexp.MustCompile(`aws-sdk-go-v2/service/sqs (\S+)`).FindSubmatch(mod); m != nil {
		p.row("AWS SDK for Go 2", string(m[1]))
	}
	for _, service := range []string{"sqs", "sns"} {
		source, err := os.ReadFile(filepath.Join(root, "transport", service, "actions.go"))
		if err != nil {
			return err
		}
		p.say("\n## Actions of %s\n", strings.ToUpper(service))
		p.head("Action", "Test")
		for _, m := range action.FindAllStringSubmatch(string(source), -1) {
			p.row("`"+m[1]+"`", testOf(suite, m[1], service))
		}
	}
	files["compatibility.md"] = p.Bytes()
	p = &page{}
	p.say("# Results\n\nFind the measured figures here, with machine and settings. %s", written)
	p.head("Page", "Answers")
	p.row("[Performance](performance.md)", "How fast is it, beside which other queues, and how much memory does it take?")
	p.row("[Faults](faults.md)", "Which faults were tried, what was lost, and how long did service stop?")
	p.row("[Compatibility](compatibility.md)", "Which clients and actions does the conformance suite test?")
	files["README.md"] = p.Bytes()
	return nil
}

func requirement(text, name string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), name); ok {
			return strings.TrimPrefix(rest, "==")
		}
	}
	return "not pinned"
}

// testOf returns a link to the test of an action, or a text that other tests cover it.
func testOf(suite, name, service string) string {
	snake := strings.ToLower(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(name, "${1}_$2"))
	for _, file := range []string{snake, "topic_" + snake, strings.TrimSuffix(snake, "_batch")} {
		if strings.HasPrefix(file, "topic_") && service != "sns" {
			continue
		}
		if _, err := os.Stat(filepath.Join(suite, file+"_test.go")); err == nil {
			return "[" + file + "_test.go](../../test/api/conformance/" + file + "_test.go)"
		}
	}
	return "covered by tests of other actions"
}
