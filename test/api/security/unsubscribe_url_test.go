package security

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// envelope is the body that a topic posts.
type envelope struct {
	Type, Token, TopicArn, SubscribeURL, UnsubscribeURL string
}

// follow requests a link without a signature.
func follow(t *testing.T, link string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
	harness.Must(t, err)
	response, err := http.DefaultClient.Do(request)
	harness.Must(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	harness.Must(t, err)
	return response.StatusCode, string(text)
}

// A subscriber on the web has no key. The links in its messages work without a signature, except
// the one to unsubscribe if the subscription was confirmed with AuthenticateOnUnsubscribe. The
// subscription of a queue cannot be removed by a link.
func TestLinksOfSubscribersNeedNoSignature(t *testing.T) {
	n := shared.cluster.Nodes[0]
	own := newKey(t, n, "")
	topics := sns.New(sns.Options{
		Region: harness.Region, BaseEndpoint: aws.String("http://" + n.Client),
		Credentials: credentials.NewStaticCredentialsProvider(own.ID, own.Secret, ""),
	})
	arrived := make(chan envelope, 10)
	subscriber := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var got envelope
		if json.NewDecoder(r.Body).Decode(&got) == nil {
			arrived <- got
		}
	}))
	defer subscriber.Close()
	next := func(kind string) envelope {
		t.Helper()
		limit := time.After(time.Minute)
		for {
			select {
			case got := <-arrived:
				if got.Type == kind {
					return got
				}
			case <-limit:
				t.Fatalf("no %s arrived", kind)
			}
		}
	}
	topic, err := topics.CreateTopic(t.Context(), &sns.CreateTopicInput{Name: aws.String("links")})
	harness.Must(t, err)
	for _, authenticate := range []bool{false, true} {
		made, err := topics.Subscribe(t.Context(), &sns.SubscribeInput{
			TopicArn: topic.TopicArn, Protocol: aws.String("http"), Endpoint: &subscriber.URL, ReturnSubscriptionArn: true,
		})
		harness.Must(t, err)
		asked := next("SubscriptionConfirmation")
		if authenticate {
			_, err = topics.ConfirmSubscription(t.Context(), &sns.ConfirmSubscriptionInput{
				TopicArn: topic.TopicArn, Token: &asked.Token, AuthenticateOnUnsubscribe: aws.String("true"),
			})
			harness.Must(t, err)
		} else if status, text := follow(t, asked.SubscribeURL); status != http.StatusOK {
			t.Fatalf("confirming by the link: %d %s", status, text)
		}
		harness.Must(t, harness.Err(topics.Publish(t.Context(), &sns.PublishInput{TopicArn: topic.TopicArn, Message: aws.String("hello")})))
		link := next("Notification").UnsubscribeURL
		want := http.StatusOK
		if authenticate {
			want = http.StatusForbidden
		}
		if status, text := follow(t, link); status != want {
			t.Errorf("AuthenticateOnUnsubscribe %v: the link is answered %d %s", authenticate, status, text)
		}
		_, err = topics.GetSubscriptionAttributes(t.Context(), &sns.GetSubscriptionAttributesInput{SubscriptionArn: made.SubscriptionArn})
		if there := err == nil; there != authenticate {
			t.Errorf("AuthenticateOnUnsubscribe %v: the subscription is there: %v (%v)", authenticate, there, err)
		}
	}
	create(t, client(n, own), "links")
	queueARN := "arn:aws:sqs:us-east-1:000000000000:links"
	made, err := topics.Subscribe(t.Context(),
		&sns.SubscribeInput{TopicArn: topic.TopicArn, Protocol: aws.String("sqs"), Endpoint: &queueARN, ReturnSubscriptionArn: true})
	harness.Must(t, err)
	link := "http://" + n.Client + "/?Action=Unsubscribe&SubscriptionArn=" + *made.SubscriptionArn
	if status, text := follow(t, link); status != http.StatusForbidden {
		t.Errorf("an unsigned request unsubscribes a queue: %d %s", status, text)
	}
	if _, err := topics.GetSubscriptionAttributes(t.Context(),
		&sns.GetSubscriptionAttributesInput{SubscriptionArn: made.SubscriptionArn}); err != nil {
		t.Error(err)
	}
}
