package leader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/attributes"
	"github.com/seriatimq/seriatim/queue/limits"
)

type webPost struct {
	URL    string
	Header [][2]string
	Body   string
}

// subscribers answers posts without a network, which a bubble cannot wait for. Safe for concurrent use.
type subscribers struct {
	answer func(ctx context.Context, p *webPost) (int, error) // nil: 200

	mu        sync.Mutex
	posts     []*webPost
	at        []time.Time
	under     map[string]int // posts in progress by URL
	mostUnder map[string]int
}

func (s *subscribers) Post(ctx context.Context, url string, header [][2]string, body string) (int, error) {
	p := &webPost{URL: url, Header: header, Body: body}
	s.mu.Lock()
	s.posts, s.at = append(s.posts, p), append(s.at, time.Now())
	if s.under == nil {
		s.under, s.mostUnder = map[string]int{}, map[string]int{}
	}
	s.under[p.URL]++
	s.mostUnder[p.URL] = max(s.mostUnder[p.URL], s.under[p.URL])
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.under[p.URL]--
		s.mu.Unlock()
	}()
	if s.answer == nil {
		return 200, nil
	}
	return s.answer(ctx, p)
}

// bodies returns the bodies posted to a URL, in order.
func (s *subscribers) bodies(url string) (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.posts {
		if p.URL == url {
			all = append(all, p.Body)
		}
	}
	return all
}

// pauses returns the times between posts.
func (s *subscribers) pauses() (all []time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.at[1:] {
		all = append(all, s.at[i+1].Sub(s.at[i]).Round(10*time.Millisecond))
	}
	return all
}

// most returns the largest number of concurrent posts to a URL.
func (s *subscribers) most(url string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mostUnder[url]
}

// topicOf creates the standard topic t with confirmed raw subscriptions.
func (s *solo) topicOf(urls ...string) {
	s.t.Helper()
	s.do(&queue.CreateTopic{Topic: "t", TopicARN: "arn:aws:sns:us-east-1:000000000000:t"})
	for _, url := range urls {
		s.subscribe(url)
	}
}

// subscribe makes a confirmed raw subscription to the topic t.
func (s *solo) subscribe(url string) {
	s.t.Helper()
	s.do(&queue.Subscribe{
		Topic: "t", Protocol: attributes.ProtocolHTTP, Endpoint: url, Owner: "000000000000",
		Attributes: []queue.Attribute{{Name: "RawMessageDelivery", Value: "true"}},
	})
	synctest.Wait()
	s.do(&queue.ConfirmSubscription{Topic: "t", Token: s.tokenFor(url)})
}

// tokenFor returns the token posted last to a URL.
func (s *solo) tokenFor(url string) string {
	s.t.Helper()
	sent := s.options.Poster.(*subscribers).bodies(url)
	if len(sent) == 0 {
		s.t.Fatalf("nothing was posted to %s", url)
	}
	_, rest, _ := strings.Cut(sent[len(sent)-1], `"Token":"`)
	token, _, _ := strings.Cut(rest, `"`)
	return token
}

func (s *solo) publish(messages ...string) {
	s.t.Helper()
	for batch := range slices.Chunk(messages, limits.BatchEntriesMax) {
		cmd := &queue.Publish{Topic: "t", SenderID: "s", Batch: true}
		for _, m := range batch {
			cmd.Entries = append(cmd.Entries, queue.PublishEntry{Message: m})
		}
		s.do(cmd)
	}
}

func (s *solo) waitingDeliveries() (n int) {
	s.options.Replica.Read(func(v queue.View) { n = v.WaitingDeliveries() })
	return n
}

func numbered(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("m%04d", i))
	}
	return all
}

const hook = "http://example.org/hook"

func TestOutboxDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &subscribers{}
		s := startSolo(t, func(o *Options) { o.Poster = to })
		s.topicOf(hook, "http://example.org/other")
		want := numbered(300)
		s.publish(want...)
		synctest.Wait()
		for _, url := range []string{hook, "http://example.org/other"} {
			got := to.bodies(url)[1:] // without the confirmation request
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s got %d messages: %v", url, len(got), got)
			}
		}
		if n := s.waitingDeliveries(); n != 0 {
			t.Errorf("%d deliveries wait", n)
		}
		if posts, failed := s.options.Counters.Posts.Load(), s.options.Counters.PostsFailed.Load(); posts != 602 || failed != 0 {
			t.Errorf("%d posts are counted, %d failed", posts, failed)
		}
		if n := len(s.outbox.lanes); n != 0 {
			t.Errorf("the runner keeps %d subscriptions that have nothing", n)
		}
		before := s.group.CommitIndex()
		time.Sleep(time.Minute)
		if after := s.group.CommitIndex(); after != before {
			t.Errorf("%d entries were written while there was nothing to do", after-before)
		}
	})
}

// Attempts follow the delays of the policy, and none follows the last.
func TestOutboxRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		confirmed := false
		to := &subscribers{answer: func(context.Context, *webPost) (int, error) {
			if !confirmed {
				return 204, nil
			}
			return 503, nil
		}}
		s := startSolo(t, func(o *Options) { o.Poster = to })
		s.topicOf(hook)
		confirmed = true
		s.publish("m")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got, want := to.pauses()[1:], []time.Duration{20 * time.Second, 20 * time.Second, 20 * time.Second}; !slices.Equal(got, want) {
			t.Errorf("pauses %v, want %v", got, want)
		}
		if n := s.waitingDeliveries(); n != 0 {
			t.Errorf("%d deliveries wait", n)
		}
		lost := 0
		s.options.Counters.Lost.Read(func(string, string, uint64, time.Duration) { lost++ })
		if lost != 1 {
			t.Errorf("%d topics have lost messages", lost)
		}
	})
}

func TestOutboxJudgesAnswers(t *testing.T) {
	for _, tc := range []struct {
		status int
		err    error
		posts  int
	}{
		{200, nil, 1}, {299, nil, 1}, {301, nil, 1}, {400, nil, 1}, {404, nil, 1}, {429, nil, 4}, {500, nil, 4}, {599, nil, 4},
		{0, errors.New("refused"), 4},
	} {
		synctest.Test(t, func(t *testing.T) {
			confirmed := false
			to := &subscribers{answer: func(context.Context, *webPost) (int, error) {
				if !confirmed {
					return 200, nil
				}
				return tc.status, tc.err
			}}
			s := startSolo(t, func(o *Options) { o.Poster = to })
			s.topicOf(hook)
			confirmed = true
			s.publish("m")
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			if n := len(to.bodies(hook)) - 1; n != tc.posts {
				t.Errorf("%d, %v: %d attempts, want %d", tc.status, tc.err, n, tc.posts)
			}
		})
	}
}

// An endpoint that does not answer has one request at a time and delays no other endpoint, however
// many messages wait.
func TestOutboxIsolatesSubscribers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hangs, works = "http://example.org/hangs", "http://example.org/works"
		confirmed := false
		to := &subscribers{answer: func(ctx context.Context, p *webPost) (int, error) {
			if !confirmed || p.URL == works {
				return 200, nil
			}
			select {
			case <-time.After(15 * time.Second):
			case <-ctx.Done():
			}
			return 0, errors.New("no answer")
		}}
		s := startSolo(t, func(o *Options) { o.Poster = to })
		s.topicOf(hangs, works)
		confirmed = true
		s.publish(numbered(1000)...)
		synctest.Wait()
		if n := len(to.bodies(works)) - 1; n != 1000 {
			t.Errorf("the endpoint that works has %d messages", n)
		}
		if n := to.most(hangs); n != postsPerSubscriptionMax {
			t.Errorf("%d posts at once to the endpoint that hangs", n)
		}
		time.Sleep(16 * time.Second)
		synctest.Wait()
		to.mu.Lock()
		under := to.under[hangs]
		to.mu.Unlock()
		if under != 1 {
			t.Errorf("%d posts at once after the first had failed", under)
		}
	})
}

// Slow endpoints that accept their messages leave room for others, however many there are.
func TestOutboxLeavesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const slow, quick = "http://example.org/slow", "http://example.org/quick"
		confirmed := false
		to := &subscribers{answer: func(ctx context.Context, p *webPost) (int, error) {
			if confirmed && strings.HasPrefix(p.URL, slow) {
				select {
				case <-time.After(14 * time.Second):
				case <-ctx.Done():
				}
			}
			return 200, nil
		}}
		s := startSolo(t, func(o *Options) { o.Poster = to })
		var urls []string
		for i := range 99 {
			urls = append(urls, fmt.Sprintf("%s%02d", slow, i))
		}
		s.topicOf(urls...)
		confirmed = true
		want := numbered(100)
		s.publish(want...)
		synctest.Wait()
		s.subscribe(quick)
		s.publish(want...)
		synctest.Wait()
		got := to.bodies(quick)[1:]
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("the endpoint that is quick has %d messages", len(got))
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := s.waitingDeliveries(); n != 0 {
			t.Errorf("%d deliveries wait", n)
		}
	})
}

// The next leader makes the deliveries that the previous one has not reported.
func TestOutboxOfTheNextLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		confirmed, hang := false, true
		to := &subscribers{answer: func(ctx context.Context, _ *webPost) (int, error) {
			if confirmed && hang {
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return 200, nil
		}}
		s := startSolo(t, func(o *Options) { o.Poster = to })
		s.topicOf(hook)
		confirmed = true
		want := numbered(40)
		s.publish(want...)
		synctest.Wait()
		s.End()
		hang = false
		s.next()
		synctest.Wait()
		got := to.bodies(hook)[1:]
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("delivered were %v", got)
		}
		if n := s.waitingDeliveries(); n != 0 {
			t.Errorf("%d deliveries wait", n)
		}
	})
}

// Another Subscribe during the first confirmation request causes another request with its own
// token.
func TestOutboxAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answered := make(chan struct{})
		to := &subscribers{answer: func(context.Context, *webPost) (int, error) {
			<-answered
			return 200, nil
		}}
		s := startSolo(t, func(o *Options) { o.Poster = to })
		s.do(&queue.CreateTopic{Topic: "t", TopicARN: "arn:aws:sns:us-east-1:000000000000:t"})
		for range 2 {
			s.do(&queue.Subscribe{Topic: "t", Protocol: attributes.ProtocolHTTP, Endpoint: hook, Owner: "000000000000"})
			time.Sleep(time.Second)
		}
		close(answered)
		synctest.Wait()
		if got := to.bodies(hook); len(got) != 2 || got[0] == got[1] {
			t.Errorf("posted were %v", got)
		}
		if n := s.waitingDeliveries(); n != 0 {
			t.Errorf("%d deliveries wait", n)
		}
	})
}

// Headers and URL match the documentation of SNS.
func TestOutboxPosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &subscribers{}
		s := startSolo(t, func(o *Options) { o.Poster = to })
		s.topicOf(hook)
		s.publish("m")
		synctest.Wait()
		names := func(p *webPost) (all []string) {
			for _, h := range p.Header {
				if h[1] == "" {
					t.Errorf("header %s is empty", h[0])
				}
				all = append(all, h[0])
			}
			return all
		}
		if got, want := fmt.Sprint(names(to.posts[0])),
			"[Content-Type x-amz-sns-message-type x-amz-sns-message-id x-amz-sns-topic-arn]"; got != want {
			t.Errorf("a request to confirm has %s", got)
		}
		if got, want := fmt.Sprint(names(to.posts[1])),
			"[Content-Type x-amz-sns-message-type x-amz-sns-message-id x-amz-sns-topic-arn x-amz-sns-subscription-arn "+
				"x-amz-sns-rawdelivery]"; got != want {
			t.Errorf("a notification has %s", got)
		}
	})
}
