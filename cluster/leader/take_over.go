package leader

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/seriatimq/seriatim/cluster/fault"
	"github.com/seriatimq/seriatim/cluster/wakeup"
	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/queue"
)

// takeOverPause precedes another attempt to take over while leadership is not lost.
const takeOverPause = 100 * time.Millisecond

// takeOver prepares the term until that succeeds or leadership is lost. An election is not enough:
// entries of earlier terms may still wait to be applied (raft.md A5).
func (t *Term) takeOver(ctx context.Context) bool {
	for {
		err := t.prepare(ctx)
		if err == nil {
			return true
		}
		if ctx.Err() == nil {
			t.options.Log.Warn("taking over leadership failed, trying again", "error", err)
		}
		if !wakeup.Sleep(ctx, takeOverPause) {
			return false
		}
	}
}

// clockLeadMax is the lead of log time over this node's clock above which a take-over logs a
// warning (raft.md A4).
const clockLeadMax = 30 * time.Second

func (t *Term) prepare(ctx context.Context) error {
	if err := t.options.Group.Barrier(ctx); err != nil {
		return fmt.Errorf("waiting for the entries of earlier leaders: %w", err)
	}
	// The barrier may be of a later term of this node.
	if term, leads := t.options.Group.LeaderTerm(); !leads || term != t.options.Term {
		return fmt.Errorf("%w: its term %d has ended", fault.ErrNotLeader, t.options.Term)
	}
	state := t.options.Replica.LogTime()
	if err := t.awaitClocks(ctx, state); err != nil {
		return err
	}
	if lead := t.logTime.takeOver(state); lead > clockLeadMax {
		t.options.Log.Warn("the log is ahead of this node's clock; it advances at half speed until they meet", "ahead", lead)
	}
	t.version.Store(t.options.Replica.FormatVersion())
	identity, err := t.missingIdentity()
	if err != nil {
		return err
	}
	if err := t.write(ctx, identity); err != nil {
		return err
	}
	if err := t.ensureFirstKey(ctx); err != nil {
		return fmt.Errorf("create the first access key of the cluster: %w", err)
	}
	return t.write(ctx, t.missingSettings())
}

func (t *Term) write(ctx context.Context, missing []queue.Command) error {
	for _, cmd := range missing {
		if err := t.Execute(ctx, cmd); err != nil {
			return fmt.Errorf("writing the cluster settings: %w", err)
		}
	}
	t.version.Store(t.options.Replica.FormatVersion())
	return nil
}

// awaitClocksMax bounds the wait for the clocks of other nodes, which gossip sends once a second.
const awaitClocksMax = 5 * time.Second

// awaitClocks waits, before log time takes a large step, until other nodes' clocks confirm this
// node's clock. Such a step, which ends windows and timeouts, follows a long outage of all nodes or
// a wrong clock.
func (t *Term) awaitClocks(ctx context.Context, state queue.Timestamp) error {
	step := wallSince1970(t.options.Clock) - time.Duration(state)*time.Millisecond
	if state == 0 || step <= t.options.ClockStepMax || t.options.ClocksKnown == nil {
		return nil
	}
	limit := time.NewTimer(awaitClocksMax)
	defer limit.Stop()
	select {
	case <-t.options.ClocksKnown:
	case <-limit.C:
		t.options.Log.Warn("log time takes a step by this node's clock alone; no majority sent its clocks", "step", step)
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// missingIdentity returns the commands that the first leader of a cluster must write first. The
// format version precedes the others, because it permits them.
func (t *Term) missingIdentity() ([]queue.Command, error) {
	key := make([]byte, 16)
	if _, err := io.ReadFull(t.options.Entropy, key); err != nil {
		return nil, fmt.Errorf("drawing a key: %w", err)
	}
	var cmds []queue.Command
	if t.version.Load() == 0 {
		cmds = append(cmds, &queue.SetFormatVersion{Version: t.initialFormat()})
	}
	t.options.Replica.Read(func(v queue.View) {
		if id := t.options.ClusterID(); v.Setting(queue.SettingClusterID) == "" && id != "" {
			cmds = append(cmds, &queue.SetClusterSetting{Name: queue.SettingClusterID, Value: id})
		}
		if v.Setting(queue.SettingReceiptKey) == "" {
			cmds = append(cmds, &queue.SetClusterSetting{Name: queue.SettingReceiptKey, Value: hex.EncodeToString(key)})
		}
	})
	return cmds, nil
}

// missingSettings returns commands for the settings that differ from the cluster's.
func (t *Term) missingSettings() (cmds []queue.Command) {
	set := func(name, value string) {
		cmds = append(cmds, &queue.SetClusterSetting{Name: name, Value: value})
	}
	t.options.Replica.Read(func(v queue.View) {
		cluster := t.options.Settings
		if window := strconv.Itoa(cluster.MinimumWindowSeconds); v.Setting(queue.SettingMinimumWindow) != window {
			set(queue.SettingMinimumWindow, window)
		}
		// Unset means false: a new cluster needs no entry for false.
		if cool := strconv.FormatBool(cluster.AWSCooldowns); v.Setting(queue.SettingAWSCooldowns) != cool &&
			(cluster.AWSCooldowns || v.Setting(queue.SettingAWSCooldowns) != "") {
			set(queue.SettingAWSCooldowns, cool)
		}
	})
	return cmds
}

// initialFormat returns the format version of a new cluster.
func (t *Term) initialFormat() uint32 {
	if t.options.InitialFormat == nil {
		return format.CurrentVersion
	}
	return t.options.InitialFormat()
}
