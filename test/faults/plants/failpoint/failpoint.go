package failpoint

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Places lists every name that Hit is called with.
var Places = []string{
	"store-logs-before", "store-logs-after", "vote-before", "vote-after",
	"apply-before", "apply-after", "answer", "reply",
	"snapshot-begin", "snapshot-written", "snapshot-rename-before", "snapshot-rename-after",
	"restore-begin", "restore-swapped", "log-truncate-before", "log-truncate-after",
	"append-entries-answer", "install-snapshot-answer", "forward-sent", "forward-answered",
	"member-change-before", "member-change-after", "deduplication-expire", "attempt-write", "shutdown",
}

// ErrInjected is wrapped by every error that a failpoint makes.
var ErrInjected = errors.New("failpoint")

// armed has the failpoints of this process.
var armed struct {
	any    atomic.Bool // lets Hit return quickly if nothing is armed
	mu     sync.Mutex
	points map[string]*point
}

// point is an armed failpoint.
type point struct {
	action   string
	code     int
	delay    time.Duration
	text     string
	nth      int // the hit that counts; 0: every hit
	part     float64
	chance   bool   // whether part applies
	random   uint64 // state of the generator
	hits     int
	released chan struct{} // closed when the failpoint is disarmed, which ends a hang
}

// Hit executes the action that is armed for a place. The caller must treat an error as one of its
// operation.
func Hit(place string) error {
	if !armed.any.Load() {
		return nil
	}
	armed.mu.Lock()
	p := armed.points[place]
	fires := p != nil && p.fires()
	armed.mu.Unlock()
	if !fires {
		return nil
	}
	switch p.action {
	case "panic":
		panic("failpoint " + place)
	case "exit":
		os.Exit(p.code)
	case "sleep":
		p.wait(p.delay)
	case "hang":
		<-p.released
	case "error":
		return fmt.Errorf("%w %s: %s", ErrInjected, place, p.text)
	}
	return nil
}

// After is Hit after an operation that may have failed. It returns both errors.
func After(err error, place string) error { return errors.Join(err, Hit(place)) }

// Must is Hit at a place without errors, where a failure has to panic.
func Must(place string) {
	if err := Hit(place); err != nil {
		panic(err)
	}
}

// fires counts a hit and reports whether the failpoint acts on it. The caller holds the lock.
func (p *point) fires() bool {
	p.hits++
	return (p.nth == 0 || p.hits == p.nth) && (!p.chance || p.next() < p.part)
}

// next returns the next number in [0,1) of the sequence of the seed (splitmix64).
func (p *point) next() float64 {
	p.random += 0x9e3779b97f4a7c15
	z := p.random
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return float64((z^z>>31)>>11) / (1 << 53)
}

func (p *point) wait(delay time.Duration) {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.released:
	}
}

// Set arms failpoints: name=action;name=action.
func Set(text string) error {
	for one := range strings.SplitSeq(text, ";") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		name, action, _ := strings.Cut(one, "=")
		if err := SetOne(name, action); err != nil {
			return err
		}
	}
	return nil
}

// SetOne arms one failpoint, or disarms it with the action off.
func SetOne(place, action string) error {
	if !slices.Contains(Places, place) {
		return fmt.Errorf("failpoint %q: there is no such place", place)
	}
	p, err := parse(action)
	if err != nil {
		return fmt.Errorf("failpoint %s: %w", place, err)
	}
	armed.mu.Lock()
	defer armed.mu.Unlock()
	if before := armed.points[place]; before != nil {
		close(before.released)
		delete(armed.points, place)
	}
	if p != nil {
		if armed.points == nil {
			armed.points = map[string]*point{}
		}
		armed.points[place] = p
	}
	armed.any.Store(len(armed.points) > 0)
	return nil
}

// Hits returns how many times an armed failpoint was passed.
func Hits(place string) int {
	armed.mu.Lock()
	defer armed.mu.Unlock()
	if p := armed.points[place]; p != nil {
		return p.hits
	}
	return 0
}

var actionForm = regexp.MustCompile(`^(panic|exit|sleep|error|hang|off)(?:\(([^)]*)\))?((?:\.(?:nth|prob)\([^)]*\))*)$`)

// parse reads an action, which is nil for off.
func parse(text string) (*point, error) {
	parts := actionForm.FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil {
		return nil, fmt.Errorf("%q is no action", text)
	}
	p := &point{action: parts[1], text: parts[2], released: make(chan struct{})}
	var err error
	switch p.action {
	case "off":
		return nil, nil
	case "exit":
		p.code, err = strconv.Atoi(parts[2])
	case "sleep":
		p.delay, err = time.ParseDuration(parts[2])
	}
	if err != nil {
		return nil, err
	}
	for modifier := range strings.SplitSeq(strings.TrimPrefix(parts[3], "."), ").") {
		if modifier != "" {
			if err := p.modify(strings.TrimSuffix(modifier, ")")); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// modify reads one modifier without its closing bracket.
func (p *point) modify(text string) (err error) {
	name, argument, _ := strings.Cut(text, "(")
	if name == "nth" {
		p.nth, err = strconv.Atoi(argument)
		return err
	}
	part, seed, _ := strings.Cut(argument, ",")
	if p.part, err = strconv.ParseFloat(part, 64); err != nil {
		return err
	}
	p.chance = true
	p.random, err = strconv.ParseUint(strings.TrimSpace(seed), 10, 64)
	return err
}
