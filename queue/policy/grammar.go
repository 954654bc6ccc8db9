// Package policy parses the JSON policies of queues, topics and subscriptions, and writes their
// stored form. Filter policies are in package filter.
package policy

import (
	"strings"

	"github.com/seriatimq/seriatim/queue/jsontext"
)

// Element is a member name or value in a kind of policy, with the format version that introduced
// it.
type Element struct {
	Name  string
	Since uint32
}

// Grammar lists the elements of a kind of policy. Older programs refuse or ignore a new element, so
// replicas would differ: the leader proposes none before its format version is set.
type Grammar []Element

// depthMax bounds the nesting of a policy.
const depthMax = 1000

// Since returns the newest format version of the elements in a policy. It returns 0 for invalid
// JSON, which every program refuses.
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

// ifExists ends a condition operator that also holds without the key.
const ifExists = "IfExists"

// of returns the format version of an element, 0 if it is unknown. Letter case does not matter. A
// condition key that ends with a slash is a prefix.
func (g Grammar) of(name string) (version uint32) {
	name = strings.TrimSuffix(name, ifExists)
	for i := range g {
		e := g[i].Name
		if strings.EqualFold(e, name) || strings.HasSuffix(e, "/") && len(name) > len(e) && strings.EqualFold(e, name[:len(e)]) {
			version = max(version, g[i].Since)
		}
	}
	return version
}

// Grammars. A new element gets the next format version, also if it changes the meaning of a policy
// that older programs accept.
var (
	AccessGrammar = Grammar{
		{"Version", 1}, {"Id", 1}, {"Statement", 1}, {"Sid", 1}, {"Effect", 1}, {"Allow", 1}, {"Deny", 1},
		{"Principal", 1}, {"NotPrincipal", 1}, {"AWS", 1}, {"CanonicalUser", 1}, {"Federated", 1}, {"Service", 1},
		{"Action", 1}, {"NotAction", 1}, {"Resource", 1}, {"NotResource", 1}, {"Condition", 1},
		{"StringEquals", 1}, {"StringNotEquals", 1}, {"StringEqualsIgnoreCase", 1}, {"StringNotEqualsIgnoreCase", 1},
		{"StringLike", 1}, {"StringNotLike", 1}, {"ArnEquals", 1}, {"ArnNotEquals", 1}, {"ArnLike", 1}, {"ArnNotLike", 1},
		{"NumericEquals", 1}, {"NumericNotEquals", 1}, {"NumericLessThan", 1}, {"NumericLessThanEquals", 1},
		{"NumericGreaterThan", 1}, {"NumericGreaterThanEquals", 1},
		{"DateEquals", 1}, {"DateNotEquals", 1}, {"DateLessThan", 1}, {"DateLessThanEquals", 1}, {"DateGreaterThan", 1},
		{"DateGreaterThanEquals", 1},
		{"Bool", 1}, {"IpAddress", 1}, {"NotIpAddress", 1}, {"Null", 1}, {"2012-10-17", 1}, {"2008-10-17", 1},
		{"aws:currenttime", 1}, {"aws:principalaccount", 1}, {"aws:principalarn", 1}, {"aws:securetransport", 1}, {"aws:sourceip", 1},
		{"aws:useragent", 1}, {"aws:username", 1}, {"aws:calledvia", 1}, {"aws:calledviafirst", 1}, {"aws:calledvialast", 1},
		{"aws:ec2instancesourceprivateipv4", 1}, {"aws:ec2instancesourcevpc", 1}, {"aws:epochtime", 1}, {"aws:federatedprovider", 1},
		{"aws:multifactorauthage", 1}, {"aws:multifactorauthpresent", 1}, {"aws:principalisawsservice", 1}, {"aws:principalorgid", 1},
		{"aws:principalorgpaths", 1}, {"aws:principalservicename", 1}, {"aws:principalservicenameslist", 1}, {"aws:principaltag/", 1},
		{"aws:principaltype", 1}, {"aws:referer", 1}, {"aws:requestedregion", 1}, {"aws:requesttag/", 1}, {"aws:resourceaccount", 1},
		{"aws:resourceorgid", 1}, {"aws:resourceorgpaths", 1}, {"aws:resourcetag/", 1}, {"aws:sourceaccount", 1}, {"aws:sourcearn", 1},
		{"aws:sourceidentity", 1}, {"aws:sourceorgid", 1}, {"aws:sourceorgpaths", 1}, {"aws:sourceowner", 1}, {"aws:sourcevpc", 1},
		{"aws:sourcevpce", 1}, {"aws:tagkeys", 1}, {"aws:tokenissuetime", 1}, {"aws:userid", 1}, {"aws:viaawsservice", 1},
		{"aws:vpcsourceip", 1}, {"sns:endpoint", 1}, {"sns:protocol", 1},
	}
	RedriveGrammar      = Grammar{{deadLetterTargetKey, 1}, {"maxReceiveCount", 1}}
	RedriveAllowGrammar = Grammar{{"redrivePermission", 1}, {"allowAll", 1}, {"denyAll", 1}, {"byQueue", 1}, {"sourceQueueArns", 1}}
	ArchiveGrammar      = Grammar{{"MessageRetentionPeriod", 1}}
	ReplayGrammar       = Grammar{{"PointType", 1}, {"Timestamp", 1}, {"StartingPoint", 1}, {"EndingPoint", 1}}
	DeadLetterGrammar   = Grammar{{deadLetterTargetKey, 1}}
	DeliveryGrammar     = Grammar{
		{"healthyRetryPolicy", 1}, {"throttlePolicy", 1}, {"requestPolicy", 1}, {"http", 1}, {"disableSubscriptionOverrides", 1},
		{"defaultHealthyRetryPolicy", 1}, {"defaultThrottlePolicy", 1}, {"defaultRequestPolicy", 1},
		{"maxReceivesPerSecond", 1}, {"headerContentType", 1},
		{"minDelayTarget", 1}, {"maxDelayTarget", 1}, {"numRetries", 1}, {"numNoDelayRetries", 1}, {"numMinDelayRetries", 1},
		{"numMaxDelayRetries", 1},
		{"backoffFunction", 1}, {"linear", 1}, {"arithmetic", 1}, {"geometric", 1}, {"exponential", 1},
	}
	FilterGrammar = Grammar{
		{"$or", 1}, {"exists", 1}, {"prefix", 1}, {"suffix", 1}, {"equals-ignore-case", 1}, {"cidr", 1}, {"numeric", 1},
		{"anything-but", 1},
		{"=", 1}, {"<", 1}, {"<=", 1}, {">", 1}, {">=", 1},
	}
)
