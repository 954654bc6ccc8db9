package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seriatimq/seriatim/test/kit/harness"
	"github.com/seriatimq/seriatim/test/kit/lab/disk"
	"github.com/seriatimq/seriatim/test/kit/lab/network"
	"github.com/seriatimq/seriatim/test/oracle/history"
	"github.com/seriatimq/seriatim/test/oracle/logcheck"
)

// prepare makes disks, nodes and the history.
func (r Run) prepare(ctx context.Context) (*testbed, error) {
	s := &testbed{seed: r.Seed, pace: r.think(), hooks: r.Hooks, rules: r.rules()}
	// Data of an earlier run would appear as unknown messages.
	nodes := filepath.Join(r.Dir, "nodes")
	if err := disk.Sweep(nodes); err != nil {
		return nil, err
	}
	for _, dir := range []string{nodes, filepath.Join(r.Dir, "taps")} {
		if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
			return nil, fmt.Errorf("clear away an earlier run: %w", err)
		}
	}
	old, err := filepath.Glob(filepath.Join(r.Dir, "history-*.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("clear away an earlier run: %w", err)
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("clear away an earlier run: %w", err)
		}
	}
	recorder, err := history.NewRecorder(historyPath(r.Dir, 0))
	if err != nil {
		return nil, err
	}
	s.recorder = recorder
	if r.Hooks {
		s.logChecker = logcheck.New(r.Dir)
	}
	if err := s.addLabs(nodes, r); err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.place.Binary, s.place.Dir, s.place.Nodes, s.place.Args, s.place.Env = r.Binary, nodes, r.nodes(), r.args(),
		func(node string) []string { return s.environment(r.Dir, node) }
	if err := s.secure(r); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if err := s.lacks(r.Scenario); err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.cluster, err = harness.Start(ctx, s.place)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a cluster: %w", err), s.close())
	}
	if err := s.checkAccess(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// environment returns variables for a fault build: the file for the committed log, and the
// failpoints that are armed at the start.
func (s *testbed) environment(dir, node string) (env []string) {
	if a := s.place.Authority; a != nil {
		env = a.ClientEnvironment(node)
	}
	if !s.hooks {
		return env
	}
	s.progress.mu.Lock()
	defer s.progress.mu.Unlock()
	return append(env, "SERIATIM_TAP="+filepath.Join(dir, "taps", node+".jsonl"), "SERIATIM_FAILPOINTS="+s.progress.armed[node])
}

// addLabs gives each node its own network host and disk if the machine supports that, and
// records the unsupported areas.
func (s *testbed) addLabs(nodes string, r Run) error {
	able := func(what area, err error) {
		e := history.Event{Kind: history.KindAble, Action: string(what), Result: history.OK}
		if err != nil {
			e.Result, e.Error = history.Fail, err.Error()
		}
		s.recorder.Add(e)
	}
	var hooks error
	if !r.Hooks {
		hooks = errors.New("the nodes are no fault build")
	}
	able(areaClock, hooks)
	able(areaFailpoint, hooks)
	if r.Bodies == "memory" {
		s.bodies = errors.New("the nodes have bodies in memory")
	}
	able(areaBodies, s.bodies)
	if r.Profile == Quick {
		able(areaDisk, errors.New("a quick run has no disks of its own"))
		able(areaNetwork, errors.New("a quick run has no network of its own"))
		return nil
	}
	lab, err := network.New(network.Options{Seed: r.Seed, Ports: network.NodePorts()})
	able(areaNetwork, err)
	if err == nil {
		s.network, s.place.Network = lab, lab
	}
	err = disk.Available()
	able(areaDisk, err)
	if err == nil {
		if s.disks, err = disk.New(nodes, r.diskBytes(), nodeNames[:r.nodes()]...); err != nil {
			return fmt.Errorf("make disks: %w", err)
		}
	}
	return nil
}

// close ends the nodes and removes their disks.
func (s *testbed) close() error {
	if s.logChecker != nil {
		s.logChecker.Close()
	}
	if s.cluster != nil {
		s.cluster.Close()
	}
	var failed []error
	if s.network != nil {
		failed = append(failed, s.network.Close())
	}
	if s.disks != nil {
		failed = append(failed, s.disks.Close())
	}
	return errors.Join(failed...)
}
