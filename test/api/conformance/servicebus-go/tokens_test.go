package servicebus

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	bus "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"
)

// token returns a shared access signature for an entity, or for everything.
func token(audience string, valid time.Duration) string {
	resource, end := url.QueryEscape("sb://host/"+audience), strconv.FormatInt(time.Now().Add(valid).Unix(), 10)
	digest := hmac.New(sha256.New, []byte(secret))
	digest.Write([]byte(resource + "\n" + end))
	signature := url.QueryEscape(base64.StdEncoding.EncodeToString(digest.Sum(nil)))
	return fmt.Sprintf("SharedAccessSignature sr=%s&sig=%s&se=%s&skn=%s", resource, signature, end, key)
}

// holding opens a client that has a token instead of a key.
func (f *fixture) holding(token string) *bus.Client {
	f.Helper()
	return f.open("Endpoint=sb://"+endpoints[0]+";SharedAccessSignature="+token, 0)
}

func (f *fixture) exchange(c *bus.Client, path string) {
	f.Helper()
	s, err := c.NewSender(path, nil)
	f.must(err)
	f.must(s.SendMessage(f.ctx, message("x"), nil))
	r, err := c.NewReceiverForQueue(path, nil)
	f.must(err)
	got := f.one(r)
	f.complete(r, got)
	f.same(string(got.Body), "x", "body")
}

// unauthorized checks that a client cannot use a queue.
func (f *fixture) unauthorized(c *bus.Client, path string) {
	f.Helper()
	s, err := c.NewSender(path, nil)
	f.must(err)
	f.refused(s.SendMessage(f.ctx, message("x"), nil), bus.CodeUnauthorizedAccess)
	r, err := c.NewReceiverForQueue(path, nil)
	f.must(err)
	_, err = r.ReceiveMessages(f.ctx, 1, nil)
	f.refused(err, bus.CodeUnauthorizedAccess)
	_, err = r.PeekMessages(f.ctx, 1, nil)
	f.refused(err, bus.CodeUnauthorizedAccess)
}

func TestTokenOfEverything(t *testing.T) {
	f := secure(t)
	f.exchange(f.holding(token("", time.Hour)), f.queue(admin.QueueProperties{}))
}

func TestTokenOfOneEntity(t *testing.T) {
	f := secure(t)
	path, other := f.queue(admin.QueueProperties{}), f.queue(admin.QueueProperties{})
	f.exchange(f.holding(token(path, time.Hour)), path)
	f.unauthorized(f.holding(token(path, time.Hour)), other)
}

func TestExpiredToken(t *testing.T) {
	f := secure(t)
	f.unauthorized(f.holding(token("", -10*time.Second)), f.queue(admin.QueueProperties{}))
}

func TestWrongKeys(t *testing.T) {
	f := secure(t)
	path := f.queue(admin.QueueProperties{})
	f.unauthorized(f.open(connection(endpoints[0], key, "another"), 0), path)
	f.unauthorized(f.open(connection(endpoints[0], "AKIAUNKNOWN000000000", secret), 0), path)
}

func TestMalformedToken(t *testing.T) {
	f := secure(t)
	f.unauthorized(f.holding("SharedAccessSignature sr=x&sig=y&se=1&skn=k"), f.queue(admin.QueueProperties{}))
}

func TestTokenThatEndsWhileItIsUsed(t *testing.T) {
	f := secure(t)
	path := f.queue(admin.QueueProperties{})
	s, err := f.holding(token("", 5*time.Second)).NewSender(path, nil)
	f.must(err)
	sent := 0
	for end := time.Now().Add(idleTimeout); err == nil && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err = s.SendMessage(f.ctx, message("x"), nil); err == nil {
			sent++
		}
	}
	f.holds(err != nil, "a sender works without a token")
	r := f.receiverWith(path, deletes())
	f.take(r, sent)
	more, err := r.PeekMessages(f.ctx, 10, nil)
	f.must(err)
	f.holds(len(more) <= 1, "more are stored than the last, whose outcome is unknown")
}

func TestAdministrationWithAWrongKey(t *testing.T) {
	f := secure(t)
	c, err := admin.NewClientFromConnectionString(connection(endpoints[0], key, "another"), adminOptions(""))
	f.must(err)
	_, err = c.CreateQueue(f.ctx, f.path(), nil)
	f.answered(err, http.StatusUnauthorized, "")
}
