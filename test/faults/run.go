package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/seriatimq/seriatim/test/oracle/check"
	"github.com/seriatimq/seriatim/test/oracle/history"
	"github.com/seriatimq/seriatim/test/oracle/logcheck"
)

// Profile selects the length of a run and its minimum counts.
type Profile string

// The profiles.
const (
	Quick Profile = "quick" // one fault that needs no privileges: part of `make test`
	Smoke Profile = "smoke" // each important fault once, in a fixed order
	Five  Profile = "five"  // as smoke, with five nodes
	Night Profile = "night" // random faults; every fourth seed has five nodes
	Soak  Profile = "soak"  // as night, in parts of some minutes each
	Fixed Profile = "scenario"
)

// Run describes a run.
type Run struct {
	Binary    string
	Dir       string // histories, reports, taps, and nodes with data and logs
	Seed      uint64
	Duration  time.Duration // time of load with faults
	Profile   Profile
	Scenario  Scenario // of the profile Fixed
	Hooks     bool     // Binary is a fault build
	Commit    string
	Without   []string  // names of faults that are left out
	Only      []string  // names of the only faults that may be drawn; empty: all
	KeepGoing bool      // a soak does not end at the first violation
	Bodies    string    // where nodes store message bodies: segments or memory; empty: the default
	Backlog   int64     // bytes of bodies that are parked before the first fault and received after the last; 0: none
	Progress  io.Writer // gets lines about the parked bytes
	TLS       bool      // nodes and clients use certificates, which are renewed during the run, gossip has a key, and requests are signed
}

// Outcome has the history and the verdict of each part of a run.
type Outcome struct {
	Parts []Part
}

// Part is a part of a run that was judged.
type Part struct {
	History string // path
	Events  []history.Event
	Report  check.Report
}

// smokeLimit bounds every run except those of the profiles night and soak.
const smokeLimit = 170 * time.Second

// partTime is the length of a part of a soak: its history must fit in memory.
const partTime = 4 * time.Minute

// drainTime bounds the drain. A queue that is not empty by then is not recorded as drained.
const drainTime = 3 * time.Minute

// burstTime is the duration of the load if it follows the faults.
const burstTime = 5 * time.Second

// think is the longest think time of clients.
func (r Run) think() time.Duration {
	if r.Profile == Soak {
		return 120 * time.Millisecond
	}
	return 20 * time.Millisecond
}

// rules returns the windows of the queues. All but one are so short that they pass several times in
// a run.
func (r Run) rules() history.Rules {
	return history.Rules{
		Seed: r.Seed, Started: time.Now().UnixMilli(), Quick: r.Profile == Quick, Profile: string(r.Profile), Commit: r.Commit,
		Command: r.command(), Settings: fmt.Sprint(r.args()),
		// The slack at the end of a window allows for log time, which stands still without a
		// leader.
		Timeout: requestTimeout.Microseconds(),
		Window:  3e6, Attempt: 20e6, Visibility: 5e6, Slack: 2e6, Must: r.Scenario.must, Unmodelled: []string{parkedQueue},
	}
}

func (r Run) command() string {
	switch {
	case r.Profile == Fixed:
		return fmt.Sprintf("make faults SCENARIO=%q SEED=%d", r.Scenario.Name, r.Seed) + r.variables()
	case r.Profile == Soak:
		return fmt.Sprintf("make soak SOAK=%s SEED=%d", r.Duration, r.Seed) + r.variables()
	}
	return fmt.Sprintf("make faults SEED=%d FAULTS_TIME=%s FAULTS_PROFILE=%s", r.Seed, r.Duration, r.Profile) + r.variables()
}

// variables returns the other make variables of the command.
func (r Run) variables() string {
	text := ""
	if r.TLS {
		text = " TLS=1"
	}
	if r.Backlog > 0 {
		text += fmt.Sprintf(" BACKLOG=%d", r.Backlog)
	}
	if r.Bodies != "" {
		text += " BODIES=" + r.Bodies
	}
	return text
}

// requestTimeout is the request-timeout of the nodes.
const requestTimeout = time.Second

// settings are the settings of the nodes. The log must be small in all its parts: a leader serves
// followers from its cache and from its newest file even if the entries were removed from the front
// of the log, and then sends no snapshot. The disk deadline is shorter than the hangs of disks and
// longer than a sync on a busy machine.
var settings = []string{
	"--log-segment-size", "256KiB", "--log-cache-size", "64KiB", "--request-timeout", requestTimeout.String(),
	"--snapshot-log-size", "128KiB", "--trailing-log-size", "32KiB", "--disk-deadline", "6s", "--promote-after", "1s", "--profiles",
}

// args are the settings of the run's nodes.
func (r Run) args() []string {
	args := append(slices.Clone(settings), bodySettings(r.Bodies)...)
	if r.Backlog > 0 {
		args = append(args, parkedSettings...) // the last value of a setting applies
	}
	return args
}

// bodySettings says where nodes store bodies. Segments are as small as the files of the log, and
// the cache is so small that most bodies are read from disk.
func bodySettings(store string) []string {
	sizes := []string{"--body-segment-size", "128KiB", "--body-cache-size", "16KiB", "--body-scrub-interval", "1s"}
	if store == "" {
		return sizes
	}
	return append(sizes, "--body-store", store)
}

// nodeNames are the names of the harness for the largest cluster.
var nodeNames = []string{"n1", "n2", "n3", "n4", "n5"}

// The sizes of clusters.
const (
	threeNodes = 3
	fiveNodes  = 5
)

func (r Run) nodes() int {
	if r.Profile == Five || r.Profile == Night && r.Seed%4 == 0 {
		return fiveNodes
	}
	return threeNodes
}

// Do makes the run and judges it.
func (r Run) Do(ctx context.Context) (out Outcome, err error) {
	if r.Profile != Night && r.Profile != Soak {
		limited, cancel := context.WithTimeout(ctx, smokeLimit)
		defer cancel()
		ctx = limited
	}
	s, err := r.prepare(ctx)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	watched, unwatch := context.WithCancel(ctx)
	var watching sync.WaitGroup
	observer := s.newObserver()
	watching.Go(func() { observer.watch(watched) })
	renewed := make(chan error, 1) // the one result
	if r.TLS {
		watching.Go(func() { renewed <- s.renewCertificates(watched) })
	} else {
		renewed <- nil
	}
	defer func() {
		unwatch()
		watching.Wait()
		err = errors.Join(err, <-renewed)
	}()

	if err := r.park(ctx, s); err != nil {
		return out, err
	}
	began := time.Now()
	for s.part = 0; ; s.part++ {
		length := r.Duration - time.Since(began)
		if r.Profile == Soak {
			length = min(length, partTime)
		}
		if err := r.play(ctx, s, length); err != nil {
			return out, err
		}
		last := r.Profile != Soak || time.Since(began)+partTime/4 > r.Duration
		s.backlog.look(ctx, last)
		part, err := r.judge(s, last)
		if err != nil {
			return out, err
		}
		s.backlog.report(&part.Report)
		out.Parts = append(out.Parts, part)
		if last || part.Report.Verdict() == "fail" && !r.KeepGoing {
			return out, nil
		}
		out.Parts[len(out.Parts)-1].Events = nil // it is in its file
	}
}

// play runs one part: load with faults, repair, drain, and the comparison of the replicas.
func (r Run) play(ctx context.Context, s *testbed, length time.Duration) error {
	s.probe = s.newClient(900, "probe")
	defer s.probe.close()
	queues := []string{s.probe.queue(), s.probe.named(damagedName)}
	for _, w := range r.workloads() {
		queues = append(queues, s.probe.named(w.name))
	}
	s.rules.Windows = map[string]int64{
		s.probe.named("dup-long"):  300e6,
		s.probe.named("stock"):     300e6, // an SDK may retry for longer than the short windows
		s.probe.named("schedules"): 300e6, // nothing shows when a scheduled message was accepted
	}
	s.rules.Subscriptions = s.probe.subscriptions()
	for _, subscription := range s.rules.Subscriptions {
		queues = append(queues, subscription.Queue)
		s.rules.Windows[subscription.Queue] = 300e6
	}
	s.rules.DeadLetter = map[string]int{}
	for workload, most := range deadLetters {
		s.rules.DeadLetter[s.probe.named(workload)] = most
	}
	queues = slices.Concat(s.deadLetters(queues), queues)
	s.rules.Queues, s.rules.Skewed = queues, s.skewedUntil()
	s.recorder.Add(history.Event{Kind: history.KindRun, Detail: history.Detail{Rules: new(s.rules)}})
	for _, queue := range queues {
		if err := s.probe.create(ctx, queue, attributesOf(s.rules, queue)); err != nil {
			return err
		}
	}
	s.probe.rules = s.rules
	if err := s.probe.createTopic(ctx, s.probe.named(fanOut), s.rules.Subscriptions); err != nil {
		return err
	}
	r.load(ctx, s, length)
	quiet, cancel := context.WithTimeout(ctx, r.quiet())
	defer cancel()
	s.steady(quiet, s.cluster.Nodes)
	s.countAll(ctx, queues)
	s.drainAll(ctx, queues)
	s.countAll(ctx, queues)
	s.agree(s.rest)
	s.noteUsages(history.AtRest)
	s.noteLogs()
	return nil
}

// quiet returns for how long the nodes must serve after the last repair.
func (r Run) quiet() time.Duration {
	switch r.Profile {
	case Quick, Fixed:
		return 3 * time.Second
	case Soak:
		return 15 * time.Second
	default:
		return 10 * time.Second
	}
}

// load runs the clients while the schedule injects faults. It ends after all repairs.
func (r Run) load(ctx context.Context, s *testbed, length time.Duration) {
	loaded, cancel := context.WithTimeout(ctx, length+r.longer())
	defer cancel()
	faulty, stop := context.WithTimeout(loaded, length)
	defer stop()
	plan := r.schedule(s)
	if r.Scenario.idle {
		plan.play(faulty)
	}
	var clients sync.WaitGroup
	number := 0
	for _, w := range r.workloads() {
		for range w.clients {
			number++
			c := s.newClient(number, w.name)
			clients.Go(func() {
				defer c.close()
				for c.think(loaded) {
					w.step(c, loaded)
				}
			})
		}
	}
	pause(loaded, 2*time.Second)
	switch {
	case r.Scenario.idle:
		pause(loaded, burstTime)
	default:
		plan.play(faulty)
		plan.complete(loaded)
	}
	if r.Profile == Fixed || r.longer() > 0 {
		cancel() // service in the remaining time would prove nothing
	}
	clients.Wait()
	s.heal()
}

// judge ends the history of a part and judges it.
func (r Run) judge(s *testbed, last bool) (Part, error) {
	part := Part{History: historyPath(r.Dir, s.part)}
	var err error
	if last {
		part.Events, err = s.recorder.Close()
	} else {
		part.Events, err = s.recorder.Rotate(historyPath(r.Dir, s.part+1))
	}
	if err != nil {
		return part, err
	}
	parts := []Part{part}
	err = judgeParts(s.logChecker, parts)
	return parts[0], err
}

// judgeParts judges with both checkers the parts of a run that the log-based checker has not read
// yet. The verdict on the whole log is stored with the last part.
func judgeParts(w *logcheck.Checker, parts []Part) error {
	var effects map[int64]int64
	var said logcheck.Report
	if w != nil {
		for _, part := range parts {
			w.Add(part.Events)
		}
		var err error
		if said, err = w.Judge(); err != nil {
			for i := range parts {
				parts[i].Report = check.Check(parts[i].Events)
			}
			return fmt.Errorf("ask the log: %w", err)
		}
		effects = w.Effects()
	}
	for i := range parts {
		parts[i].Report = check.CheckWithEffects(parts[i].Events, effects)
		if i == len(parts)-1 {
			testify(said, &parts[i].Report)
		}
	}
	return nil
}

// testify adds the findings from the whole log to the report of a part. They include those of
// earlier parts, so that Sum does not add up their counts.
func testify(said logcheck.Report, r *check.Report) {
	for _, v := range said.Violations {
		r.Violations = append(r.Violations, check.Violation{Invariant: v.Invariant, Checker: "log " + v.Check, Text: v.String(), At: v.At})
	}
	for name, n := range said.Counts {
		r.Counts["log: "+name] = n
	}
	for _, gap := range said.Gaps {
		r.Leave("the committed log: %s", gap)
	}
}

// historyPath is the file of a part of a run.
func historyPath(dir string, part int) string {
	return filepath.Join(dir, fmt.Sprintf("history-%03d.jsonl", part))
}
