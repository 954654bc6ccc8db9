package forward

import (
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/seriatimq/seriatim/cluster/peerpb"
)

// FuzzRequestFrame: for any frame, the leader does not panic, proposes nothing that it cannot read
// itself, and answers each request once.
func FuzzRequestFrame(f *testing.F) {
	add := func(requests ...*peerpb.Request) {
		frame, err := proto.Marshal(&peerpb.RequestFrame{LeaderId: "leader", SenderId: "asker", Requests: requests})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(frame)
	}
	add(&peerpb.Request{Id: 1, Kind: Submit, Term: 5, Command: []byte{1, 1, 0, 0, 0, 0}}, &peerpb.Request{Id: 1, Kind: cancelRequest})
	add(&peerpb.Request{Id: 2, Kind: Receive, Term: 5, WaitMillis: 1 << 62, BudgetMillis: 1 << 63})
	add(&peerpb.Request{Id: 3, Kind: Audit, Term: 5})
	f.Fuzz(func(t *testing.T, input []byte) {
		frame := new(peerpb.RequestFrame)
		if proto.Unmarshal(input, frame) != nil {
			return
		}
		s := newServing(t)
		in := newInbound(s.requests)
		wanted := map[uint64]int{}
		var running sync.WaitGroup
		for _, r := range frame.Requests {
			// Reads and receives wait for a term that serves.
			if r.Kind == ReadIndex || r.Kind == Receive && r.Term == 5 && frame.GroupId == testGroup && frame.LeaderId == "leader" {
				continue
			}
			if r.Kind != cancelRequest {
				wanted[r.Id]++
			}
			in.accept(t.Context(), &running, frame, r)
		}
		running.Wait()
		in.cancelAll()
		got := map[uint64]int{}
		for _, a := range in.answers {
			got[a.id]++
		}
		for id, n := range got {
			if n > wanted[id] {
				t.Errorf("request %d was asked %d times and answered %d times", id, wanted[id], n)
			}
		}
	})
}
