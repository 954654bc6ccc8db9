package fsm

import "github.com/seriatimq/seriatim/queue"

// BeginEpoch makes the state the beginning of a history of its own, see
// queue.Broker.BeginEpoch. It does nothing to a state in which that has been
// done for this cluster already, so that a broken recovery can be repeated.
func (f *FSM) BeginEpoch(clusterID string) {
	f.options.StateLock.Lock()
	defer f.options.StateLock.Unlock()
	if f.broker.View().Setting(queue.SettingClusterID) == clusterID {
		return
	}
	f.broker.BeginEpoch(clusterID, queue.BrokerRecord{})
	position := f.Position()
	position.At, position.StateHash = f.broker.Now(), f.broker.StateHash()
	f.position.Store(&position)
}
