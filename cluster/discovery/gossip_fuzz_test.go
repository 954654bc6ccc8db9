package discovery

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net"
	"slices"
	"testing"

	"github.com/hashicorp/memberlist"
)

// FuzzGossipMetadata: for any metadata, a node does not panic and adds neither itself nor a node
// without an id.
func FuzzGossipMetadata(f *testing.F) {
	meta, err := json.Marshal(Member{NodeID: "b-2", Name: "b", ClusterID: "c", Peer: ":7", Boot: 3, HasState: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(meta, meta)
	f.Add([]byte(`{"i":"b-2","p":"10.0.0.1:1","b":18446744073709551615}`), []byte(`{"i":""}`))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		logger := slog.New(slog.DiscardHandler)
		own := Member{NodeID: "a-1", ClusterID: "c", HasState: true}
		g := New(Options{
			NodeID: "a-1", Logger: logger, Self: func() Member { return own }, Wanted: func() int { return 1 },
			Heard: func(string, string, uint64) {},
		})
		for _, meta := range [][]byte{first, second} {
			node := &memberlist.Node{Name: "x", Addr: net.IPv4(10, 0, 0, 9), Port: 1, Meta: meta}
			refused := (*filter)(g).NotifyAlive(node) != nil
			if refused {
				var member Member
				if err := json.Unmarshal(meta, &member); err != nil || member.ClusterID == own.ClusterID {
					t.Fatalf("refused %s", meta)
				}
				continue
			}
			(*events)(g).NotifyJoin(node)
			(*events)(g).NotifyUpdate(node)
		}
		view := g.View()
		if !slices.IsSortedFunc(view, func(a, b Member) int { return bytes.Compare([]byte(a.NodeID), []byte(b.NodeID)) }) {
			t.Fatalf("not in order: %+v", view)
		}
		for _, m := range view {
			if m.NodeID == "" || m.NodeID == "a-1" {
				t.Fatalf("believes %+v", m)
			}
		}
	})
}
