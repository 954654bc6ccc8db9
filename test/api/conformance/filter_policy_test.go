package conformance

import (
	"strings"
	"testing"
)

func TestFilterPolicyAttributes(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, filtered, all := c.fifoTopic(t, nil), c.fifo(t, nil), c.fifo(t, nil)
		c.subscribe(t, topic, filtered,
			attrs{"FilterPolicy": `{"k":["a"],"n":[{"numeric":[">=",0,"<",10]}]}`, "RawMessageDelivery": "true"})
		c.subscribe(t, topic, all, raw)
		for _, m := range []struct{ k, n string }{{"a", "5"}, {"b", "5"}, {"a", "10"}, {"a", "0"}} {
			c.publish(t, topic, m.k+m.n, toGroup("g"), withID(m.k+m.n), topicText("k", "String", m.k), topicText("n", "Number", m.n))
		}
		c.publish(t, topic, "none", toGroup("g"), withID("none"))
		c.expect(t, filtered, "a5", "a0")
		c.expect(t, all, "a5", "b5", "a10", "a0", "none")
	})
}

func TestFilterPolicyBody(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		topic, queue := c.fifoTopic(t, nil), c.fifo(t, nil)
		c.subscribe(t, topic, queue, attrs{"FilterPolicy": `{"a":{"b":["x"]}}`, "FilterPolicyScope": "MessageBody",
			"RawMessageDelivery": "true"})
		for i, body := range []string{"no JSON", `"x"`, `{"a":{"b":"y"}}`, `{"a":[{"b":"x"}]}`, `{"a":{"b":"x"}}`} {
			c.publish(t, topic, body, toGroup("g"), withID(string(rune('a'+i))))
		}
		c.expect(t, queue, `{"a":[{"b":"x"}]}`, `{"a":{"b":"x"}}`)
	})
}

func TestFilterPolicyRefusals(t *testing.T) {
	onTopics(t, func(t *testing.T, c *client) {
		subscription := c.subscribe(t, c.fifoTopic(t, nil), c.fifo(t, nil), nil)
		for _, test := range []struct{ name, policy, text string }{
			{"six keys", `{"a":["1"],"b":["1"],"c":["1"],"d":["1"],"e":["1"],"f":["1"]}`,
				"FilterPolicy: Filter policy can not have more than 5 keys"},
			{"no JSON", "{", "FilterPolicy: failed to parse JSON."},
			{"nested", `{"a":{"b":["1"]}}`, "Filter policy scope MessageAttributes does not support nested filter policy"},
			{"not a list", `{"a":"b"}`, `FilterPolicy: "a" must be an object or an array`},
			{"empty list", `{"a":[]}`, "FilterPolicy: Empty arrays are not allowed"},
			{"match type", `{"a":[{"like":"b"}]}`, "FilterPolicy: Unrecognized match type like"},
			{"exists", `{"a":[{"exists":"b"}]}`, "FilterPolicy: exists match pattern must be either true or false."},
			{"prefix", `{"a":[{"prefix":1}]}`, "FilterPolicy: prefix match pattern must be a string"},
			{"range operator", `{"a":[{"numeric":[">",0,"<>",1]}]}`, "FilterPolicy: Bad numeric range operator: <>"},
			{"empty range", `{"a":[{"numeric":[">",2,"<",1]}]}`, "FilterPolicy: Bottom must be less than top"},
			{"two conditions in one", `{"a":[{"prefix":"a","suffix":"b"}]}`, "FilterPolicy: Only one key allowed in match expression"},
			{"complex", `{"a":` + list(4) + `,"b":` + list(5) + `,"c":` + list(8) + `}`, "FilterPolicy: Filter policy is too complex"},
		} {
			t.Run(test.name, func(t *testing.T) {
				got := c.trySetSubscription(t, subscription, "FilterPolicy", test.policy)
				refused(t, got, invalid, "")
				// A position may follow.
				if got != nil && !strings.HasPrefix(got.Message, "Invalid parameter: "+test.text) {
					t.Errorf("message %q, want %q", got.Message, test.text)
				}
			})
		}
	})
}

// list returns n different JSON strings.
func list(n int) string {
	var values []string
	for i := range n {
		values = append(values, `"`+strings.Repeat("v", i+1)+`"`)
	}
	return "[" + strings.Join(values, ",") + "]"
}
