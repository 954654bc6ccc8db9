package atom

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seriatimq/seriatim/cluster/clustertest"
	"github.com/seriatimq/seriatim/transport/servicebus/atom/client"
	"github.com/seriatimq/seriatim/transport/servicebus/description"
)

func testClient(t *testing.T, f *fixture) {
	c := client.Client{Endpoint: f.url + "/", KeyID: accountKey, Key: secret, Now: time.Now,
		HTTP: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	made := description.Entity{Path: "client/one", Properties: []description.Property{
		{Name: "LockDuration", Value: "PT30S"}, {Name: "RequiresSession", Value: "true"}}}
	clustertest.Must(t, c.Create(t.Context(), made))
	var refused *client.Refused
	if err := c.Create(t.Context(), made); !errors.As(err, &refused) || refused.Status != http.StatusConflict ||
		!strings.HasPrefix(refused.Detail, "SubCode=40900.") {
		t.Errorf("created twice: %v", err)
	}
	made.Path, made.Properties[0].Value = "two", "<&>"
	err := c.Create(t.Context(), made)
	if err == nil || !strings.Contains(err.Error(), "400 SubCode=40000. The property LockDuration cannot be '<&>'") {
		t.Errorf("got %v", err)
	}
	list, err := c.Queues(t.Context())
	clustertest.Must(t, err)
	for _, e := range list {
		if e.Path != "client/one" {
			continue
		}
		var q description.Queue
		for _, p := range e.Properties {
			clustertest.Must(t, q.Set(p.Name, p.Value))
		}
		want := description.Default()
		want.LockSeconds, want.Session = 30, true
		if q != want {
			t.Errorf("listed %+v", e)
		}
		return
	}
	t.Errorf("the queue is not in %+v", list)
}
