package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/seriatimq/seriatim/cluster/clustertest"
)

// Every node reaches the providers of all nodes. A node that is away, or that refuses, is named.
func TestAskAll(t *testing.T) {
	t.Parallel()
	c := startNodes(t, 3, nil)
	ctx := clustertest.Context(t)
	for i, n := range c.nodes {
		n.Provide("greeting", func(_ context.Context, query json.RawMessage) (any, error) {
			var greeted string
			if err := json.Unmarshal(query, &greeted); err != nil {
				return nil, err
			}
			if greeted == c.configs[i].NodeName {
				return nil, errors.New("this node does not greet itself")
			}
			return greeted + " from " + c.configs[i].NodeName, nil
		})
	}
	for i, n := range c.nodes {
		answers, missing, err := n.AskAll(ctx, "greeting", "you")
		if err != nil || len(answers) != 3 || len(missing) > 0 {
			t.Fatalf("node %d: %v, missing %v, %v", i, answers, missing, err)
		}
		for _, a := range answers {
			var text string
			if clustertest.Must(t, json.Unmarshal(a.Content, &text)); text != "you from "+a.Node {
				t.Errorf("%s answers %q", a.Node, text)
			}
		}
	}
	other := c.configs[1].NodeName
	if _, missing, err := c.nodes[0].AskAll(ctx, "greeting", other); err != nil || !slices.Equal(missing, []string{other}) {
		t.Errorf("missing %v, %v", missing, err)
	}
	if a, err := c.nodes[0].AskOne(ctx, other, "greeting", "you"); err != nil || a.Node != other {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := c.nodes[0].AskOne(ctx, "nonsense", "greeting", "you"); err == nil {
		t.Error("an unknown node answers")
	}
	if _, _, err := c.nodes[0].AskAll(ctx, "nonsense", "you"); err == nil {
		t.Error("an unknown subject has an answer")
	}
	c.close(2)
	if _, missing, err := c.nodes[0].AskAll(ctx, "greeting", "you"); err != nil || !slices.Equal(missing, []string{c.configs[2].NodeName}) {
		t.Errorf("missing %v, %v, without a node", missing, err)
	}
}
