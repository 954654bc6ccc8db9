package ops

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// subjectSettings is the subject of questions about the settings of a node.
const subjectSettings = "settings"

// NodeSetting is a setting of this node.
type NodeSetting struct {
	Name, Value, Default string
	Own                  bool // every node has its own value, such as an address
}

// settings answers GET /v1/settings.
func (a *Admin) settings(w http.ResponseWriter, r *http.Request, node asking) {
	answers, missing, err := node.AskAll(r.Context(), subjectSettings, nil)
	if err != nil {
		a.fail(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	a.answer(w, http.StatusOK, mergeSettings(answers, missing))
}

// provideSettings answers the questions of other nodes.
func (a *Admin) provideSettings(node asking) {
	node.Provide(subjectSettings, func(context.Context, json.RawMessage) (any, error) { return a.Settings(), nil })
}

// mergeSettings puts the values of all nodes for a setting side by side, in the order of the first node.
// A node that leaves out a setting has its default.
func mergeSettings(answers []cluster.NodeAnswer, missing []string) document.Settings {
	out := document.Settings{Settings: []document.Setting{}, Missing: listed(missing)}
	at := map[string]int{}
	var answered []cluster.NodeAnswer
	for _, answer := range answers {
		var own []NodeSetting
		if json.Unmarshal(answer.Content, &own) != nil {
			out.Missing = append(out.Missing, answer.Node)
			continue
		}
		answered = append(answered, answer)
		for _, s := range own {
			i, known := at[s.Name]
			if !known {
				i = len(out.Settings)
				at[s.Name] = i
				out.Settings = append(out.Settings, document.Setting{Name: s.Name, Default: s.Default, Own: s.Own})
			}
			out.Settings[i].Values = append(out.Settings[i].Values,
				document.SettingValue{Node: answer.Node, NodeID: answer.NodeID, Value: s.Value})
		}
	}
	for i := range out.Settings {
		s := &out.Settings[i]
		for _, node := range answered {
			if !slices.ContainsFunc(s.Values, func(v document.SettingValue) bool { return v.NodeID == node.NodeID }) {
				s.Values = append(s.Values, document.SettingValue{Node: node.Node, NodeID: node.NodeID, Value: s.Default})
			}
		}
		s.Differs = !s.Own && slices.ContainsFunc(s.Values, func(v document.SettingValue) bool { return v.Value != s.Values[0].Value })
	}
	return out
}
