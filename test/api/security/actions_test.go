package security

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/seriatimq/seriatim/transport/aws"
	"github.com/seriatimq/seriatim/transport/awswire"
	"github.com/seriatimq/seriatim/transport/sns"
	"github.com/seriatimq/seriatim/transport/sqs"
)

const (
	queueARN = "arn:aws:sqs:us-east-1:000000000000:guarded.fifo"
	topicARN = "arn:aws:sns:us-east-1:000000000000:guarded.fifo"
)

// members are the parameters that name the resource of a request.
var members = map[string]string{
	"QueueUrl": "http://localhost/000000000000/guarded.fifo", "QueueName": "guarded.fifo", "SourceArn": queueARN,
	"TaskHandle": base64.StdEncoding.EncodeToString([]byte(`{"taskId":"1","sourceArn":"` + queueARN + `"}`)),
	"TopicArn":   topicARN, "ResourceArn": topicARN, "SubscriptionArn": topicARN + ":00000000-0000-0000-0000-000000000000",
	"Name": "guarded.fifo", "Token": "token", "Protocol": "sqs", "Endpoint": queueARN,
}

// requestFor returns a request for an action on the queue or topic of the test.
func requestFor(api *aws.API, action *aws.Action, protocol string) request {
	return requestWith(api, action, protocol, members)
}

// requestAbout is requestFor for another queue or topic of the first account.
func requestAbout(api *aws.API, action *aws.Action, protocol, name string) request {
	about := map[string]string{"QueueOwnerAWSAccountId": "000000000000"}
	for member, value := range members {
		about[member] = strings.ReplaceAll(value, "guarded.fifo", name)
	}
	about["TaskHandle"] = base64.StdEncoding.EncodeToString([]byte(`{"taskId":"1","sourceArn":"` + about["SourceArn"] + `"}`))
	return requestWith(api, action, protocol, about)
}

func requestWith(api *aws.API, action *aws.Action, protocol string, members map[string]string) request {
	given := map[string]string{}
	form := url.Values{"Action": {action.Name}, "Version": {api.Version}}
	for _, m := range action.Input() {
		if value, known := members[m.Name]; known && m.Kind == awswire.KindString {
			given[m.Name] = value
			form.Set(m.Query, value)
		}
	}
	if protocol == aws.Query {
		return request{form.Encode(), http.Header{"Content-Type": {aws.FormType}}}
	}
	body, err := json.Marshal(given)
	if err != nil {
		panic(err) // strings can be encoded
	}
	return request{string(body), http.Header{"Content-Type": {aws.JSONType}, "X-Amz-Target": {api.Target + action.Name}}}
}

// unguarded are the actions for which a token replaces the signature, as on AWS.
var unguarded = map[string]bool{"ConfirmSubscription": true}

// TestEveryActionIsGuarded calls every action without a key, with a wrong signature, with an
// unknown key, as a user without permissions, and finally as the account.
func TestEveryActionIsGuarded(t *testing.T) {
	n := shared.cluster.Nodes[0]
	root, anna := newKey(t, n, ""), newKey(t, n, "anna")
	wrong, unknown := key{anna.ID, anna.Secret + "!"}, key{anna.ID + "X", anna.Secret}
	tested := 0
	for _, api := range []*aws.API{sqs.New(t.Context(), sqs.Options{}).API(), sns.API()} {
		for _, action := range api.Actions {
			for _, protocol := range []string{aws.JSON, aws.Query} {
				if protocol == aws.JSON && api.Target == "" || unguarded[action.Name] {
					continue
				}
				tested++
				q := requestFor(api, action, protocol)
				name := protocol + " " + api.Service + ":" + action.Name
				for _, caller := range []struct {
					name string
					got  answer
					code string
				}{
					{"no key", post(t, n, q, nil), "MissingAuthenticationToken"},
					{"somebody with a wrong secret", post(t, n, q, wrong.signer(api.Service)), "SignatureDoesNotMatch"},
					{"somebody with an unknown key", post(t, n, q, unknown.signer(api.Service)), "InvalidClientTokenId"},
					{"a user without permission", post(t, n, q, anna.signer(api.Service)), "AccessDenied"},
				} {
					if caller.got.status != http.StatusForbidden || caller.got.code != caller.code {
						t.Errorf("%s asks for %s: %d %s, want 403 %s\n%s", caller.name, name, caller.got.status, caller.got.code,
							caller.code, caller.got.body)
					}
				}
				if got := post(t, n, q, root.signer(api.Service)); got.status == http.StatusForbidden {
					t.Errorf("the account asks for %s: %d %s\n%s", name, got.status, got.code, got.body)
				}
			}
		}
	}
	if tested < 60 {
		t.Errorf("%d requests only: were the tables read?", tested)
	}
}
