package ops

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

func TestMergedSettings(t *testing.T) {
	t.Parallel()
	answer := func(node string, list ...NodeSetting) cluster.NodeAnswer {
		content, err := json.Marshal(list)
		clustertest.Must(t, err)
		return cluster.NodeAnswer{Node: node, NodeID: node + "-id", Content: content}
	}
	name := func(value string) NodeSetting { return NodeSetting{Name: "node-name", Value: value, Own: true} }
	level := func(value string) NodeSetting { return NodeSetting{Name: "log-level", Value: value, Default: "info"} }
	got := mergeSettings([]cluster.NodeAnswer{
		answer("n1", name("n1"), level("info"), NodeSetting{Name: "hidden", Value: "2s", Default: "1s"}),
		answer("n2", name("n2"), level("debug")),
		{Node: "n3", Content: json.RawMessage(`"damaged"`)},
	}, []string{"n4"})
	want := document.Settings{Missing: []string{"n4", "n3"}, Settings: []document.Setting{
		{Name: "node-name", Own: true, Values: []document.SettingValue{{Node: "n1", NodeID: "n1-id", Value: "n1"},
			{Node: "n2", NodeID: "n2-id", Value: "n2"}}},
		{Name: "log-level", Default: "info", Differs: true, Values: []document.SettingValue{{Node: "n1", NodeID: "n1-id", Value: "info"},
			{Node: "n2", NodeID: "n2-id", Value: "debug"}}},
		{Name: "hidden", Default: "1s", Differs: true, Values: []document.SettingValue{{Node: "n1", NodeID: "n1-id", Value: "2s"},
			{Node: "n2", NodeID: "n2-id", Value: "1s"}}},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}
