package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/environment"
	"github.com/seriatimq/seriatim/cluster/peernet"
)

// suspicion notices sooner than the library's timeout that the leader is gone,
// and lets the best placed follower stand for election at once.
//
// A follower looks when a connection of the leader broke, or when nothing came
// from it for a while. It misses the leader if nobody listens at its address any
// more, if it says that it does not lead, or if it is silent and does not answer. Then it asks the other
// voters. Only when a majority misses the same leader in the same term, and none
// of them has a longer log, it stands, by telling itself what a leader that hands
// over tells its successor. That is safe whenever it happens; asking first keeps
// one broken link from unseating a leader that works. Where none of this comes
// to pass the library's timeout decides as ever; it is long, because the rate of
// heartbeats follows from it, and each wakes the processors of idle nodes.
type suspicion struct {
	suspicionConfig
	electorate
	// started is closed once electorate is set. Before, while this node reads its
	// log, it only answers that it does not lead.
	started chan struct{}

	// doubts wakes run. Capacity 1: a token that waits stands for all that follow.
	doubts chan struct{}
}

// suspicionConfig is what suspicion knows before consensus has started.
type suspicionConfig struct {
	nodeID  string
	network *peernet.Network
	silence time.Duration // of the leader, which counts as missing
	clock   environment.Clock
	log     *slog.Logger
}

// electorate is what suspicion reads and does once consensus has started.
type electorate struct {
	consensus  suspicionSource
	leadership func() Leadership
	voters     func() []string
	stand      func() error
	heard      func() []string // voters that this leader heard of late
	mayLead    func(nodeID string) bool
	transfer   func(ctx context.Context, nodeID string) error
}

func newSuspicion(config suspicionConfig) *suspicion {
	return &suspicion{suspicionConfig: config, started: make(chan struct{}), doubts: make(chan struct{}, 1)}
}

// start makes suspicion take part in elections.
func (s *suspicion) start(e electorate) {
	s.electorate = e
	close(s.started)
}

func (s *suspicion) hasStarted() bool {
	select {
	case <-s.started:
		return true
	default:
		return false
	}
}

// suspicionSource is what suspicion reads of the library.
type suspicionSource interface {
	LastContact() time.Time
	Stats() map[string]string
}

const (
	// suspicionSilence is the part of the heartbeat timeout after which a silent
	// leader is missed. Heartbeats come five to ten times in one timeout.
	suspicionSilence = 0.5
	// leaderBudget bounds the question to the leader, suspicionBudget the one to
	// another voter, which asks the leader itself before it answers. They are long
	// for a network, but not for a machine that is busy.
	leaderBudget    = 250 * time.Millisecond
	suspicionBudget = 2 * leaderBudget
	// suspicionPause separates two looks at a leader that does not answer.
	suspicionPause = 100 * time.Millisecond
	// probesMax bounds the questions under way: each may ask the leader in turn. A
	// node asks one at a time.
	probesMax = 64
	// suspicionMessageMax bounds what another node may send.
	suspicionMessageMax = 4 << 10
)

// doubtQuestion asks a voter whether it misses the leader, or the leader whether
// it leads. Connections of kind peernet.KindFailureDetector carry one, and its answer, in JSON.
type doubtQuestion struct {
	Leader string `json:"leader"`
	Term   uint64 `json:"term"`
	// Stranded is a voter that hears no leader, see stranded.go: without Leader it
	// asks for help; with Leader another one asks the leader about it, and with
	// Successor offers to lead in its place.
	Stranded  string `json:"stranded,omitempty"`
	Successor string `json:"successor,omitempty"`
	// Vacant asks whether the other one knows no leader either, see vacancy.go.
	Vacant bool `json:"vacant,omitempty"`
}

type doubtAnswer struct {
	Leads  bool `json:"leads,omitempty"`
	Misses bool `json:"misses,omitempty"`
	// LastTerm and LastIndex are of the newest entry in the log.
	LastTerm  uint64 `json:"lastTerm"`
	LastIndex uint64 `json:"lastIndex"`
	// Heard are the voters that a leader hears.
	Heard []string `json:"heard,omitempty"`
}

// doubt makes this node look whether the leader is still there.
func (s *suspicion) doubt() { signal(s.doubts) }

// signal leaves a token for whoever waits, unless one is there already.
func signal(tokens chan<- struct{}) {
	select {
	case tokens <- struct{}{}:
	default:
	}
}

// lostConnection is told of each connection of another node that broke.
func (s *suspicion) lostConnection(nodeID string) {
	if s.hasStarted() && nodeID == s.leadership().LeaderID {
		s.doubt()
	}
}

// run looks whenever there is doubt, until ctx ends.
func (s *suspicion) run(ctx context.Context) {
	timer := time.NewTimer(0) // there is no leader at first
	defer timer.Stop()
	var vacant vacancy
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			var pause time.Duration
			if vacant, pause = s.seek(ctx, vacant); vacant.lasts {
				timer.Reset(pause)
				continue
			}
			if left := s.silence - s.silent(); left > 0 {
				timer.Reset(left)
				continue
			}
		case <-s.doubts:
		}
		if s.investigate(ctx) == leaderPresent {
			timer.Reset(s.silence)
			continue
		}
		timer.Reset(suspicionPause)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		s.doubt() // to look until it is clear, or there is another leader
	}
}

// silent is for how long nothing came from the leader; never for long at the
// leader itself.
func (s *suspicion) silent() time.Duration {
	if leader := s.leadership(); leader.Self || leader.LeaderID == "" {
		return 0
	}
	return environment.SinceContact(s.consensus.LastContact())
}

// presence is what a follower knows of its leader.
type presence int

const (
	leaderPresent presence = iota
	// leaderUnclear: it was heard a moment ago and does not answer.
	leaderUnclear
	leaderMissed
)

// investigate looks for the leader, and stands if it is this node's turn.
func (s *suspicion) investigate(ctx context.Context) presence {
	leader := s.leadership()
	if leader.LeaderID == "" || leader.Self {
		return leaderPresent
	}
	if found := s.find(ctx, leader); found != leaderMissed {
		return found
	}
	if s.chosen(ctx, doubtQuestion{Leader: leader.LeaderID, Term: leader.Term}) && s.leadership() == leader {
		s.rise(ctx, slog.LevelWarn, "a majority misses the leader", leader)
	}
	return leaderMissed
}

// rise stands for election.
func (s *suspicion) rise(ctx context.Context, level slog.Level, reason string, last Leadership) {
	s.log.Log(ctx, level, "this node stands for election", "reason", reason, "leader", last.LeaderID, "term", last.Term)
	if err := s.stand(); err != nil {
		s.log.Warn("standing for election failed", "error", err)
	}
}

// find asks the leader whether it leads.
func (s *suspicion) find(ctx context.Context, leader Leadership) presence {
	answer, err := s.ask(ctx, leader.LeaderID, leader, leaderBudget)
	switch {
	case err == nil && answer.Leads:
		return leaderPresent
	case err == nil, errors.Is(err, syscall.ECONNREFUSED), s.silent() >= s.silence:
		return leaderMissed
	default:
		return leaderUnclear
	}
}

// chosen asks the voters beside the leader and reports whether a majority misses
// the leader and this node is the one of them to stand.
func (s *suspicion) chosen(ctx context.Context, question doubtQuestion) bool {
	own := s.lastEntry()
	voters, agreeing, best := s.voters(), 0, true
	if !slices.Contains(voters, s.nodeID) {
		return false // a learner only raises the voters' terms
	}
	var asking sync.WaitGroup
	var mu sync.Mutex
	for _, voter := range voters {
		if voter == question.Leader {
			continue
		}
		if voter == s.nodeID {
			mu.Lock()
			agreeing++
			mu.Unlock()
			continue
		}
		asking.Go(func() {
			answer, err := s.put(ctx, voter, question, suspicionBudget)
			if err != nil || !answer.Misses && !answer.Leads {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			agreeing++
			best = best && !answer.Leads && !answer.before(voter, own, s.nodeID)
		})
	}
	asking.Wait()
	return best && 2*agreeing > len(voters)
}

// before reports whether a voter had better stand than another one: the library
// elects nobody whose log is behind, and of equals one must be enough.
func (a doubtAnswer) before(voter string, other doubtAnswer, otherVoter string) bool {
	if a.LastTerm != other.LastTerm {
		return a.LastTerm > other.LastTerm
	}
	if a.LastIndex != other.LastIndex {
		return a.LastIndex > other.LastIndex
	}
	return voter < otherVoter
}

func (s *suspicion) lastEntry() (last doubtAnswer) {
	stats := s.consensus.Stats()
	// What cannot be read is zero, and this node then not the one to stand.
	last.LastTerm, _ = strconv.ParseUint(stats["last_log_term"], 10, 64)
	last.LastIndex, _ = strconv.ParseUint(stats["last_log_index"], 10, 64)
	return last
}

// ask puts the question about a leader to a node.
func (s *suspicion) ask(ctx context.Context, nodeID string, leader Leadership, budget time.Duration) (answer doubtAnswer, err error) {
	return s.put(ctx, nodeID, doubtQuestion{Leader: leader.LeaderID, Term: leader.Term}, budget)
}

func (s *suspicion) put(ctx context.Context, nodeID string, question doubtQuestion, budget time.Duration) (answer doubtAnswer, err error) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	conn, err := s.network.Dial(ctx, nodeID, peernet.KindFailureDetector, thisGroup)
	if err != nil {
		return answer, errors.Join(err, ctx.Err())
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if err = json.NewEncoder(conn).Encode(question); err == nil {
		err = json.NewDecoder(io.LimitReader(conn, suspicionMessageMax)).Decode(&answer)
	}
	if err != nil {
		return answer, fmt.Errorf("asking node %s about the leader: %w", nodeID, errors.Join(err, ctx.Err()))
	}
	return answer, nil
}

// serve answers the other nodes until the listener closes, which is before ctx
// ends. All are answered at once: nodes that miss the leader ask each other. What
// is beyond probesMax is closed, which says nothing about the leader.
func (s *suspicion) serve(ctx context.Context, listener net.Listener) {
	var answering sync.WaitGroup
	defer answering.Wait()
	slots := make(chan struct{}, probesMax)
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		select {
		case slots <- struct{}{}:
		default:
			conn.Close()
			continue
		}
		answering.Go(func() {
			defer func() { <-slots }()
			s.answer(ctx, conn)
		})
	}
}

func (s *suspicion) answer(life context.Context, conn net.Conn) {
	defer conn.Close()
	ctx, cancel := context.WithTimeout(life, suspicionBudget)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	var question doubtQuestion
	if json.NewDecoder(io.LimitReader(conn, suspicionMessageMax)).Decode(&question) != nil {
		return
	}
	if !s.hasStarted() {
		// It cannot lead before it has read its log. This is worth saying at once:
		// else the others wait for it, who would replace it if it were gone.
		if question.Leader == s.nodeID {
			_ = json.NewEncoder(conn).Encode(doubtAnswer{}) // whoever got no answer goes on without
		}
		return
	}
	answer, leader := s.lastEntry(), s.leadership()
	switch asked := (Leadership{Term: question.Term, LeaderID: question.Leader}); {
	case question.Vacant:
		answer.Misses, answer.Leads = leader.LeaderID == "", leader.Self
	case question.Leader == "":
		// It wants help, or to know whether this node answers.
	case question.Leader == s.nodeID:
		answer.Leads = leader.Self && leader.Term == question.Term
		if answer.Leads && question.Stranded != "" {
			answer.Heard = s.heard()
		}
	case leader.Term != question.Term:
		// It may miss an old leader, or this node an old one.
	case leader.LeaderID == "":
		answer.Misses = true
	case leader == asked:
		answer.Misses = s.find(ctx, leader) == leaderMissed
		s.doubt() // it may be this node that has to stand
	}
	_ = json.NewEncoder(conn).Encode(answer) // whoever got no answer goes on without
	switch {
	case question.Leader == "" && question.Stranded != "":
		s.help(life, question.Stranded)
	case answer.Leads && question.Successor != "":
		s.makeWay(life, question)
	}
}

// standForElection tells this node what a leader tells the node it hands over to.
// What this relies on in the library is tested by exploit_timeout_now_test.go.
func (g *raftGroup) standForElection() error {
	own := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(g.nodeID), Addr: []byte(g.nodeID)}
	return g.transport.TimeoutNow(raft.ServerID(g.nodeID), raft.ServerAddress(g.nodeID),
		&raft.TimeoutNowRequest{RPCHeader: own}, &raft.TimeoutNowResponse{})
}
