package bodies

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/raft"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/fsm"
	"github.com/seriatimq/seriatim/fsm/codec"
	"github.com/seriatimq/seriatim/fsm/format"
	"github.com/seriatimq/seriatim/fsm/snapshot"
	"github.com/seriatimq/seriatim/queue"
)

// twins apply the same log, one with its bodies in segments and one in memory.
type twins struct {
	*node
	random   *rand.Rand
	segments *fsm.FSM
	memory   *fsm.FSM
	index    uint64
	at       queue.Timestamp
	handles  []string
	read     int // bodies that came from segments
}

func newTwins(t *testing.T, seed uint64) *twins {
	w := &twins{node: newNode(t), random: rand.New(rand.NewPCG(seed, 7)), at: 1_700_000_000_000}
	w.segments, w.memory = w.machine(w.store), w.machine(nil)
	for _, cmd := range []queue.Command{
		&queue.SetClusterSetting{Name: queue.SettingClusterID, Value: "c-test"},
		&queue.SetClusterSetting{Name: queue.SettingReceiptKey, Value: "000102030405060708090a0b0c0d0e0f"},
		&queue.SetClusterSetting{Name: queue.SettingMinimumWindow, Value: "1"},
		&queue.SetFormatVersion{Version: format.CurrentVersion},
		&queue.CreateQueue{Queue: "dead.fifo",
			Attributes: []queue.Attribute{{Name: "FifoQueue", Value: "true"}, {Name: "ContentBasedDeduplication", Value: "true"}}},
		&queue.CreateQueue{Queue: "a.fifo", Attributes: []queue.Attribute{
			{Name: "FifoQueue", Value: "true"},
			{Name: "ReservedAttributesEnabled", Value: "true"},
			{Name: "RedrivePolicy", Value: `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead.fifo","maxReceiveCount":2}`},
		}},
		&queue.CreateQueue{Queue: "b"},
	} {
		if response := w.apply(cmd); response.Err != nil {
			t.Fatalf("%T: %v", cmd, response.Err)
		}
	}
	return w
}

func (w *twins) machine(store *Store) *fsm.FSM {
	options := fsm.Options{Fatal: func(err error) { panic(err) }}
	if store != nil {
		options.Bodies = store
	}
	return fsm.New(options)
}

// apply applies one command to both, and compares answers and states.
func (w *twins) apply(cmd queue.Command) codec.Response {
	w.t.Helper()
	frame, err := codec.AppendCommand(nil, cmd)
	clustertest.Must(w.t, err)
	w.index++
	log := raft.Log{Index: w.index, Term: 1, Type: raft.LogCommand, Data: codec.AppendEntry(nil, w.at, [][]byte{frame})}
	var answers [2]codec.Response
	var encoded [2][]byte
	for i, machine := range []*fsm.FSM{w.segments, w.memory} {
		answer := machine.Apply(&log).(fsm.EntryResult).Responses[0]
		if answers[i], err = machine.ReadBodies(answer); err != nil {
			w.t.Fatalf("%T: %v", cmd, err)
		}
		if encoded[i], err = codec.AppendResponse(nil, answers[i]); err != nil {
			w.t.Fatal(err)
		}
	}
	if !bytes.Equal(encoded[0], encoded[1]) || w.segments.Position() != w.memory.Position() {
		w.t.Fatalf("%T: answers are equal: %t; %+v and %+v", cmd, bytes.Equal(encoded[0], encoded[1]), w.segments.Position(),
			w.memory.Position())
	}
	return answers[0]
}

// step makes a random change.
func (w *twins) step() {
	w.at += queue.Timestamp(w.random.IntN(3000))
	name := []string{"a.fifo", "a.fifo", "a.fifo", "b", "b", "dead.fifo"}[w.random.IntN(6)]
	switch w.random.IntN(20) {
	default:
		w.sendTo(name)
	case 8, 9, 10, 11, 12:
		w.receive(name)
	case 13, 14, 15:
		if len(w.handles) > 0 {
			i := w.random.IntN(len(w.handles))
			w.apply(&queue.DeleteMessages{Queue: name, Handles: w.handles[i : i+1]})
		}
	case 16:
		if len(w.handles) > 0 {
			w.apply(&queue.ChangeMessageVisibility{Queue: name,
				Entries: []queue.VisibilityEntry{{Handle: w.handles[w.random.IntN(len(w.handles))], VisibilityTimeout: queue.Some(0)}}})
		}
	case 17:
		w.apply(&queue.AdvanceClock{})
	case 18:
		if w.random.IntN(10) == 0 {
			w.apply(&queue.PurgeQueue{Queue: name})
		}
	case 19:
		started, ok := w.apply(&queue.StartMoveTask{Source: "dead.fifo", Destination: "a.fifo"}).Result.(queue.MoveTaskStarted)
		if ok {
			w.apply(&queue.MoveMessages{TaskID: started.TaskID, Max: 100})
		}
	}
}

func (w *twins) sendTo(name string) {
	size := []int{1, 50, 127, 128, 129, 1000, 5000, 20_000}[w.random.IntN(8)]
	e := queue.SendEntry{Body: text(w.random.IntN(1000), size)}
	if name != "b" {
		e.GroupID, e.GroupIDGiven = fmt.Sprint("g", w.random.IntN(5)), true
		e.DeduplicationID, e.DeduplicationIDGiven = fmt.Sprint(w.random.Uint64()), true
	}
	scheduled := name == "a.fifo" && w.random.IntN(4) == 0
	if scheduled {
		at := fmt.Sprintf("2023-11-14T23:%02d:00Z", w.random.IntN(60))
		e.Attributes = []queue.MessageAttribute{{Name: "seriatim.ScheduledEnqueueTime", DataType: "String", Value: at}}
	}
	response := w.apply(&queue.SendMessages{Queue: name, Entries: []queue.SendEntry{e}})
	if sent, ok := response.Result.(queue.MessagesSent); ok && scheduled && w.random.IntN(2) == 0 {
		w.apply(&queue.CancelScheduled{Queue: name, Sequences: []queue.SequenceNumber{sent.Entries[0].Sequence},
			ForgetDeduplicationID: true})
	}
}

func (w *twins) receive(name string) {
	response := w.apply(&queue.ReceiveMessages{Queue: name, MaxMessages: queue.Some(10),
		VisibilityTimeout: queue.Some(int64(w.random.IntN(5)))})
	received, _ := response.Result.(queue.MessagesReceived)
	for i := range received.Messages {
		w.handles = append(w.handles, received.Messages[i].Handle.String())
		if received.Messages[i].Body.Len() >= w.options.KeepMin {
			w.read++
		}
	}
	if len(w.handles) > 50 {
		w.handles = w.handles[len(w.handles)-50:]
	}
}

// persisted returns a snapshot that refers to segments.
func (w *twins) persisted() []byte {
	captured := w.segments.Capture()
	defer captured.Release()
	sink := &memorySink{}
	clustertest.Must(w.t, captured.Persist(sink))
	return sink.Bytes()
}

type memorySink struct{ bytes.Buffer }

func (*memorySink) ID() string    { return "s" }
func (*memorySink) Cancel() error { return nil }
func (*memorySink) Close() error  { return nil }

// whole returns a snapshot of the twin in memory.
func (w *twins) whole() []byte {
	captured := w.memory.Capture()
	defer captured.Release()
	var out bytes.Buffer
	clustertest.Must(w.t, captured.Write(&out))
	return out.Bytes()
}

func (w *twins) compareSnapshots() {
	w.t.Helper()
	references, whole := w.persisted(), w.whole()
	var inlined bytes.Buffer
	clustertest.Must(w.t, snapshot.Inline(&inlined, bytes.NewReader(references), w.store))
	size, err := snapshot.InlineSize(bytes.NewReader(references))
	if err != nil || size != int64(len(whole)) || !bytes.Equal(inlined.Bytes(), whole) {
		w.t.Fatalf("put together, %d bytes (said were %d, %v) differ from %d", inlined.Len(), size, err, len(whole))
	}
	var filled bytes.Buffer
	source := &sectionReader{store: w.store}
	if err := snapshot.Fill(&filled, bytes.NewReader(references), source); err != nil || !bytes.Equal(filled.Bytes(), whole) ||
		len(source.wanted) > 0 {
		w.t.Fatalf("filled, %d bytes differ from %d, with %d bodies too many, %v", filled.Len(), len(whole), len(source.wanted), err)
	}
	captured := w.segments.Capture()
	var backup bytes.Buffer
	if err := captured.Write(&backup); err != nil || !bytes.Equal(backup.Bytes(), whole) {
		w.t.Fatalf("a backup of %d bytes differs from %d, %v", backup.Len(), len(whole), err)
	}
	captured.Release()
}

// sectionReader returns the bodies of a section in order.
type sectionReader struct {
	store  *Store
	wanted []snapshot.Wanted
}

func (s *sectionReader) Section(wanted []snapshot.Wanted) error {
	if len(s.wanted) > 0 {
		return fmt.Errorf("%d bodies of the section before were not read", len(s.wanted))
	}
	s.wanted = append(s.wanted[:0], wanted...)
	return nil
}

func (s *sectionReader) Begin(func(string) uint64) {}

func (s *sectionReader) Read(body queue.Body) (queue.Body, error) {
	if len(s.wanted) == 0 || s.wanted[0].Body != body || s.wanted[0].Queue == "" || s.wanted[0].Sequence == 0 {
		return body, fmt.Errorf("%v is read in place of the next of %v", body.Place(), s.wanted)
	}
	s.wanted = s.wanted[1:]
	return s.store.Read(body)
}

// restartTwin restores the state from a snapshot with references, or from a whole one, in a new
// process.
func (w *twins) restartTwin(content []byte) {
	w.t.Helper()
	w.store.Close()
	w.open()
	w.segments = w.machine(w.store)
	clustertest.Must(w.t, w.segments.Restore(io.NopCloser(bytes.NewReader(content))))
	if diff := cmp.Diff(w.memory.Position(), w.segments.Position()); diff != "" {
		w.t.Fatal(diff)
	}
	if w.segments.Broker().ComputeStateHash() != w.memory.Broker().ComputeStateHash() {
		w.t.Fatal("the hash computed again is another one")
	}
}

func TestTwinsWithBodiesElsewhere(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newTwins(t, seed)
			w.options.KeepMin = DefaultKeepMin
			for i := range 1500 {
				w.step()
				switch {
				case i%500 == 499:
					w.compareSnapshots()
					w.restartTwin(w.persisted())
				case i%700 == 699:
					w.restartTwin(w.whole())
				case i%50 == 49:
					w.persisted()
				}
			}
			w.compareSnapshots()
			if stats := w.store.Stats(); w.read < 100 || stats.DiskReads == 0 {
				t.Errorf("%d bodies were received, %+v: too little was tested", w.read, stats)
			}
			// The Store counts the bodies of the state.
			w.apply(&queue.DeleteQueue{Queue: "a.fifo"})
			w.apply(&queue.DeleteQueue{Queue: "b"})
			w.apply(&queue.DeleteQueue{Queue: "dead.fifo"})
			for range 10 {
				w.apply(&queue.AdvanceClock{})
			}
			if stats := w.store.Stats(); stats.Bodies != 0 || stats.Bytes != 0 {
				t.Errorf("without a queue %+v are counted", stats)
			}
		})
	}
}
