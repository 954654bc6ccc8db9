package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/oracle/history"
)

// memberFaults move leadership and change the members, under load.
func memberFaults() []fault {
	return []fault{
		{name: "leadership moved about", area: areaMembers, least: 0, most: 0, begin: moveAbout},
		{name: "empty disk, node replaced", area: areaMembers, least: 0, most: 0, begin: replaceEmptied},
		{name: "node added and removed", area: areaMembers, least: time.Second, most: 3 * time.Second, begin: addAndRemove},
	}
}

// anyAdmin requests a membership change from one node after another until one accepts it.
func (s *testbed) anyAdmin(ctx context.Context, path, body string) error {
	var err error
	for range 20 {
		if err = s.admin(ctx, s.cluster.Next(), http.MethodPost, path, body); err == nil {
			return nil
		}
		if !pause(ctx, 500*time.Millisecond) {
			break
		}
	}
	return err
}

// changeMember changes the member with this name. If the answer was lost, the change may have been
// made, and would be refused when it is repeated. Then the list of members decides.
func (s *testbed) changeMember(ctx context.Context, change, name string, made func([]member) bool) error {
	err := s.anyAdmin(ctx, "/v1/cluster/"+change, fmt.Sprintf(`{"node":%q}`, name))
	if err == nil {
		return nil
	}
	members, listed := s.membersNamed(ctx, name)
	if listed == nil && made(members) {
		return nil
	}
	return errors.Join(err, listed)
}

// member is an entry of the list of members.
type member struct{ NodeID, Name, Role string }

func (m member) votes() bool { return m.Role != "learner" }

func (s *testbed) membersNamed(ctx context.Context, name string) ([]member, error) {
	text, err := s.cluster.Next().Get(ctx, "/v1/cluster/members")
	if err != nil {
		return nil, err
	}
	var list struct{ Members []member }
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("list of members: %w", err)
	}
	return slices.DeleteFunc(list.Members, func(m member) bool { return m.Name != name }), nil
}

// moveAbout transfers leadership every 300 ms. A refusal is not a failure: shortly after an
// election there may be no candidate.
func moveAbout(s *injection, ctx context.Context) error {
	moved := 0
	for range 8 {
		leader, err := s.leader(ctx)
		if err != nil {
			return err
		}
		s.touch(history.TouchTransfer, leader)
		if s.testbed.admin(ctx, leader, http.MethodPost, "/v1/cluster/transfer-leader", `{}`) == nil {
			moved++
		}
		if !pause(ctx, 300*time.Millisecond) {
			break
		}
	}
	s.testbed.observe("leadership handed over on request", "", int64(moved))
	return nil
}

// replaceEmptied empties the disk of a follower. The node returns under its name, without a vote,
// and replaces its former self.
func replaceEmptied(s *injection, ctx context.Context) error {
	n, err := s.takeFollower(ctx)
	if err != nil {
		return err
	}
	if err := n.Kill(); err != nil {
		return err
	}
	if err := s.lose(n); err != nil {
		return err
	}
	if err := n.Start(); err != nil {
		return err
	}
	return s.testbed.replaceLost(ctx)
}

// lose empties the disk of a node. No other disk is emptied before this node is replaced, because
// the guarantees exclude the loss of two of three disks.
func (s *injection) lose(n *harness.Node) error {
	s.testbed.progress.mu.Lock()
	before := s.testbed.progress.lost
	if before == nil {
		s.testbed.progress.lost = n
	}
	s.testbed.progress.mu.Unlock()
	if before != nil {
		return fmt.Errorf("%s was not replaced yet", before.Name)
	}
	if err := empty(n.DataDir); err != nil {
		return err
	}
	s.testbed.progress.mu.Lock()
	defer s.testbed.progress.mu.Unlock()
	// Its damaged files are gone, and new files may have the same numbers.
	s.testbed.progress.damaged = slices.DeleteFunc(s.testbed.progress.damaged, func(d damage) bool { return d.node == n.Name })
	return nil
}

// replaceLost makes the node with the emptied disk a member again.
func (s *testbed) replaceLost(ctx context.Context) error {
	s.progress.mu.Lock()
	n := s.progress.lost
	s.progress.mu.Unlock()
	if n == nil {
		return nil
	}
	if err := n.WaitReady(ctx, s.joining()); err != nil {
		return err
	}
	status, err := n.Status(ctx)
	if err != nil {
		return err
	}
	if err := s.changeMember(ctx, "replace", n.Name, func(named []member) bool {
		return len(named) == 1 && named[0].NodeID == status.NodeID && named[0].votes()
	}); err != nil {
		return err
	}
	s.progress.mu.Lock()
	s.progress.lost = nil
	s.progress.mu.Unlock()
	s.observe("node started from an empty disk", n.Name, 1)
	return nil
}

// exitRemoved is the exit code of a node that was removed.
const exitRemoved = 87

// addAndRemove lets a fourth node join, makes it a voter, and removes it again.
func addAndRemove(s *injection, ctx context.Context) error {
	n, err := s.testbed.spare()
	if err != nil {
		return err
	}
	if err := n.Start(); err != nil {
		return err
	}
	s.undo(func() error { return s.dismiss(n) })
	if err := n.WaitReady(ctx, s.testbed.joining()); err != nil {
		return err
	}
	return s.testbed.changeMember(ctx, "promote", n.Name, func(named []member) bool { return len(named) == 1 && named[0].votes() })
}

// spare is a further node under a name that none had before.
func (s *testbed) spare() (*harness.Node, error) {
	s.progress.mu.Lock()
	s.progress.spares++
	name := fmt.Sprintf("s%d", s.progress.spares)
	s.progress.mu.Unlock()
	return s.cluster.Spare(name)
}

// dismiss removes a spare from the members. It ends by itself then.
func (s *injection) dismiss(n *harness.Node) error {
	ctx, cancel := context.WithTimeout(context.Background(), 4*s.testbed.recovery())
	defer cancel()
	err := s.testbed.changeMember(ctx, "remove", n.Name, func(named []member) bool { return len(named) == 0 })
	if err == nil {
		var code int
		if code, err = n.WaitExit(s.testbed.recovery()); err == nil && code != exitRemoved {
			err = fmt.Errorf("%s ended with code %d after it was removed", n.Name, code)
		}
	}
	if killed := n.Kill(); err == nil {
		err = killed
	}
	if err == nil {
		s.testbed.observe("node added and removed", n.Name, 1)
	}
	return err
}
