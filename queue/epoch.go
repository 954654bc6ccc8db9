package queue

// sequenceGap is how many sequence numbers an epoch leaves out: as many as the
// history it leaves behind can have used since the point it is left at. At
// 100,000 messages a second that is half a day for one queue.
const sequenceGap = 1 << 32

// BeginEpoch makes the state the beginning of a history of its own: after it
// was brought back from a backup, or when the log that led to it may have gone
// on elsewhere. What that other history handed out is never mistaken for what
// this one hands out: its receipt handles are refused, because a handle's seal
// covers the epoch, and its sequence numbers, queue incarnations and move tasks
// are passed over. Messages, deduplication windows and receive attempts stay.
//
// clusterID names the cluster that goes on with the state. replaced is the
// record of the state that this one takes the place of, zero if there is none;
// no counter and no clock falls below those of it.
//
// BeginEpoch is not a command: replicas that call it must begin with the same
// state and arguments, or share the result by a snapshot.
func (b *Broker) BeginEpoch(clusterID string, replaced BrokerRecord) {
	b.epoch = max(b.epoch, replaced.Epoch) + 1
	b.now = max(b.now, replaced.Now)
	b.formatVersion = max(b.formatVersion, replaced.FormatVersion)
	b.nextIncarnation = max(b.nextIncarnation, replaced.NextIncarnation)
	b.nextMoveTask = max(b.nextMoveTask, replaced.NextMoveTask)
	b.sequenceFloor = max(b.sequenceFloor, replaced.SequenceFloor) + sequenceGap
	b.settings.Set(SettingClusterID, clusterID)
	names := make([]string, 0, b.queues.Len())
	b.queues.Scan(func(name string, _ *Queue) bool {
		names = append(names, name)
		return true
	})
	for _, name := range names {
		b.begin(name).lastSequence += sequenceGap
		b.finish() // one at a time: changed is made for a few
	}
}

// Record is what belongs to no queue.
func (b *Broker) Record() BrokerRecord { return b.record() }
