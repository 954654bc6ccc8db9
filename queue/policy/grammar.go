package policy

import "github.com/seriatimq/seriatim/queue/jsontext"

// Element is a name that a kind of policy understands: of a member, or a word that is a
// value. Since is the format version it came with.
type Element struct {
	Name  string
	Since uint32
}

// Grammar lists all elements of a kind of policy. A program of an older version refuses or
// ignores a policy with an element it does not know, so that replicas would differ: the
// leader proposes none before its version is in force.
type Grammar []Element

// depthMax bounds the nesting of a policy whose elements are looked for.
const depthMax = 1000

// Since returns the format version that a policy needs: the newest of its elements has it.
// Text that is no JSON needs none, as every program refuses it.
func (g Grammar) Since(text string) (version uint32) {
	if text == "" {
		return 0
	}
	v, err := jsontext.Parse(text, depthMax)
	if err != nil {
		return 0
	}
	return g.since(v)
}

func (g Grammar) since(v jsontext.Value) (version uint32) {
	switch v.Kind() {
	case jsontext.KindObject:
		for name, value := range v.Members() {
			version = max(version, g.of(name.Text()), g.since(value))
		}
	case jsontext.KindArray:
		for element := range v.Elements() {
			version = max(version, g.since(element))
		}
	case jsontext.KindString:
		return g.of(v.Text())
	}
	return version
}

// of returns the version of an element, zero for a name that is none.
func (g Grammar) of(name string) uint32 {
	for i := range g {
		if g[i].Name == name {
			return g[i].Since
		}
	}
	return 0
}

// Grammars of the policies, by the kind. A new element gets the version that is not
// released, and so does a rule if older programs ignore the element.
var (
	AccessGrammar = Grammar{
		{"Version", 1}, {"Id", 1}, {"Statement", 1}, {"Sid", 1}, {"Effect", 1}, {"Allow", 1}, {"Deny", 1},
		{"Principal", 1}, {"NotPrincipal", 1}, {"AWS", 1}, {"CanonicalUser", 1}, {"Federated", 1}, {"Service", 1},
		{"Action", 1}, {"NotAction", 1}, {"Resource", 1}, {"NotResource", 1}, {"Condition", 1},
		{"StringEquals", 1}, {"StringNotEquals", 1}, {"StringEqualsIgnoreCase", 1}, {"StringNotEqualsIgnoreCase", 1},
		{"StringLike", 1}, {"StringNotLike", 1}, {"ArnEquals", 1}, {"ArnNotEquals", 1}, {"ArnLike", 1}, {"ArnNotLike", 1},
		{"NumericEquals", 1}, {"NumericNotEquals", 1}, {"NumericLessThan", 1}, {"NumericLessThanEquals", 1},
		{"NumericGreaterThan", 1}, {"NumericGreaterThanEquals", 1},
		{"DateEquals", 1}, {"DateNotEquals", 1}, {"DateLessThan", 1}, {"DateLessThanEquals", 1}, {"DateGreaterThan", 1}, {"DateGreaterThanEquals", 1},
		{"Bool", 1}, {"IpAddress", 1}, {"NotIpAddress", 1}, {"Null", 1},
	}
	RedriveGrammar      = Grammar{{deadLetterTargetKey, 1}, {"maxReceiveCount", 1}}
	RedriveAllowGrammar = Grammar{{"redrivePermission", 1}, {"allowAll", 1}, {"denyAll", 1}, {"byQueue", 1}, {"sourceQueueArns", 1}}
	ArchiveGrammar      = Grammar{{"MessageRetentionPeriod", 3}}
	ReplayGrammar       = Grammar{{"PointType", 3}, {"Timestamp", 3}, {"StartingPoint", 3}, {"EndingPoint", 3}}
	DeadLetterGrammar   = Grammar{{deadLetterTargetKey, 3}}
	DeliveryGrammar     = Grammar{
		{"healthyRetryPolicy", 3}, {"throttlePolicy", 3}, {"requestPolicy", 3}, {"http", 3}, {"disableSubscriptionOverrides", 3},
		{"defaultHealthyRetryPolicy", 3}, {"defaultThrottlePolicy", 3}, {"defaultRequestPolicy", 3},
		{"maxReceivesPerSecond", 3}, {"headerContentType", 3},
		{"minDelayTarget", 3}, {"maxDelayTarget", 3}, {"numRetries", 3}, {"numNoDelayRetries", 3}, {"numMinDelayRetries", 3}, {"numMaxDelayRetries", 3},
		{"backoffFunction", 3}, {"linear", 3}, {"arithmetic", 3}, {"geometric", 3}, {"exponential", 3},
	}
	FilterGrammar = Grammar{
		{"$or", 3}, {"exists", 3}, {"prefix", 3}, {"suffix", 3}, {"equals-ignore-case", 3}, {"cidr", 3}, {"numeric", 3}, {"anything-but", 3},
		{"=", 3}, {"<", 3}, {"<=", 3}, {">", 3}, {">=", 3},
	}
)
