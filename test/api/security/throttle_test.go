package security

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"

	"github.com/seriatimq/seriatim/test/kit/harness"
)

// throttleWaitMax bounds the time until an account has made too many requests in a second, on a
// slow, shared machine.
const throttleWaitMax = time.Minute

// untilThrottled makes requests until one is throttled. It returns the number of successful
// requests.
func untilThrottled(t *testing.T, code string, request func() error) (served int) {
	t.Helper()
	for end := time.Now().Add(throttleWaitMax); time.Now().Before(end); served++ {
		err := request()
		if err != nil && codeOf(err) != code {
			t.Fatalf("request %d: %v", served, err)
		}
		if err != nil {
			return served
		}
	}
	t.Fatalf("none of %d requests was throttled with %s", served, code)
	return 0
}

// throttled returns the number of throttled requests of an account at a node, or -1 without a
// metric.
func throttled(t *testing.T, n *harness.Node, account string) int {
	t.Helper()
	metrics, err := n.Metrics(t.Context())
	harness.Must(t, err)
	found := regexp.MustCompile(`(?m)^seriatim_account_requests_throttled_total\{account="` + account +
		`"\} (\d+)$`).FindStringSubmatch(metrics)
	if found == nil {
		return -1
	}
	count, err := strconv.Atoi(found[1])
	harness.Must(t, err)
	return count
}

// patiently retries like the SDK, but more often. The SDK's pauses are random.
func patiently(o *sqs.Options) {
	o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.MaxAttempts = 50 })
}

// sendRetried sends until the SDK had to repeat a request. It returns the numbers of accepted
// messages and of refusals that the SDK did not report.
func sendRetried(t *testing.T, c *sqs.Client, url string) (sent, repeated int) {
	t.Helper()
	for end := time.Now().Add(throttleWaitMax); repeated == 0 && time.Now().Before(end); sent++ {
		made, err := c.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String(strconv.Itoa(sent))},
			patiently)
		if err != nil {
			t.Fatalf("message %d: %v", sent, err)
		}
		repeated += attempts(t, made.ResultMetadata) - 1
	}
	return sent, repeated
}

func attempts(t *testing.T, m middleware.Metadata) int {
	t.Helper()
	results, found := retry.GetAttemptResults(m)
	if !found {
		t.Fatal("the SDK does not tell its attempts")
	}
	return len(results.Results)
}

// TestRequestsPerSecond makes an account exceed its quota of requests per second. They are refused
// with the error of each service, an SDK that repeats them neither loses nor duplicates messages,
// other accounts and nodes are not affected, and the metric counts each refusal.
func TestRequestsPerSecond(t *testing.T) {
	t.Parallel()
	n, next := shared.cluster.Nodes[0], shared.cluster.Nodes[1]
	const tenant, neighbour = "505050505050", "606060606060"
	slow := tenantKey(t, n, tenant, "--requests-per-second", "1")
	c := client(n, slow)
	url := create(t, client(next, slow), "throttled")

	list := func() error {
		_, err := c.ListQueues(t.Context(), nil)
		return err
	}
	untilThrottled(t, "RequestThrottled", list)
	untilThrottled(t, "Throttling", func() error {
		_, err := topics(n, slow).ListTopics(t.Context(), &sns.ListTopicsInput{})
		return err
	})
	refused := 2

	sent, repeated := sendRetried(t, c, url)
	refused += repeated
	var shown struct {
		Usage struct{ Messages int }
	}
	if err := json.Unmarshal(tool(t, n, "", "account", "show", tenant, "-o", "json"), &shown); err != nil || shown.Usage.Messages != sent {
		t.Errorf("%d messages were accepted, %d are there, %v", sent, shown.Usage.Messages, err)
	}

	untilThrottled(t, "RequestThrottled", list)
	refused++
	others := map[string]key{"the cluster's own": newKey(t, n, ""),
		"another, with a quota of its own": tenantKey(t, n, neighbour, "--requests-per-second", "100000")}
	for who, k := range others {
		for i := range 20 {
			if _, err := client(n, k).ListQueues(t.Context(), nil); err != nil {
				t.Errorf("account %s, request %d: %v", who, i, err)
			}
		}
	}
	if got := throttled(t, n, tenant); got != refused {
		t.Errorf("%d requests were refused, the metric counts %d", refused, got)
	}
	for node, account := range map[*harness.Node]string{n: neighbour, next: tenant} {
		if got := throttled(t, node, account); got != 0 {
			t.Errorf("%s has throttled account %s %d times", node.Name, account, got)
		}
	}

	tool(t, n, "", "account", "quota", tenant, "--requests-per-second", "0")
	for i := range 20 {
		if err := list(); err != nil {
			t.Fatal(fmt.Errorf("request %d after the limit was taken away: %w", i, err))
		}
	}
}
