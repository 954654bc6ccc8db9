package fsm

import "github.com/seriatimq/seriatim/queue"

// BeginEpoch calls queue.Broker.BeginEpoch, unless the state already belongs to the cluster. So an
// interrupted recovery can be repeated.
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
