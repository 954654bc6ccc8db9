package iam

import (
	"errors"
	"strings"
	"testing"
)

const (
	own     = "000000000000"
	foreign = "111111111111"
	orders  = "arn:aws:sqs:eu-north-1:000000000000:orders.fifo"
)

func parse(t testing.TB, text string) *Document {
	t.Helper()
	d, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return d
}

// one is a policy with one statement.
func one(members string) string {
	return `{"Version":"2012-10-17","Statement":[{` + members + `}]}`
}

func request(change func(*Request)) *Request {
	r := &Request{
		Caller: Caller{Account: own, User: "ada"}, Account: own, Action: "sqs:SendMessage", Resource: orders,
		Keys: map[string][]string{
			"aws:username": {"ada"}, "aws:sourceip": {"10.1.2.3"}, "aws:securetransport": {"false"},
			"aws:currenttime": {"2026-11-23T10:00:00Z"}, "aws:epochtime": {"1795428000"}, "aws:useragent": {"boto3/1.40 md"},
		},
	}
	if change != nil {
		change(r)
	}
	return r
}

func TestStatements(t *testing.T) {
	t.Parallel()
	const allow = `"Effect":"Allow","Resource":"*",`
	for _, tc := range []struct {
		name, members string
		want          Effect
	}{
		{"the action", allow + `"Action":"sqs:SendMessage"`, Allowed},
		{"in other letters", allow + `"Action":"SQS:sendmessage"`, Allowed},
		{"a list of actions", allow + `"Action":["sqs:DeleteMessage","sqs:Send*"]`, Allowed},
		{"one character", allow + `"Action":"sqs:SendMessag?"`, Allowed},
		{"too many characters", allow + `"Action":"sqs:SendMessage?"`, Unspecified},
		{"a star in the middle", allow + `"Action":"s*:*Me*ge"`, Allowed},
		{"another action", allow + `"Action":"sqs:SendMessageBatch"`, Unspecified},
		{"all but another", allow + `"NotAction":["sqs:DeleteQueue"]`, Allowed},
		{"all but this", allow + `"NotAction":["sqs:Send*"]`, Unspecified},
		{"denied", `"Effect":"Deny","Action":"*","Resource":"*"`, Denied},
		{"without a resource", `"Effect":"Allow","Action":"*"`, Allowed},
		{"the resource", `"Effect":"Allow","Action":"*","Resource":"` + orders + `"`, Allowed},
		{"resources are compared exactly", `"Effect":"Allow","Action":"*","Resource":"` + strings.ToUpper(orders) + `"`, Unspecified},
		{"a part of the resource", `"Effect":"Allow","Action":"*","Resource":"arn:aws:sqs:*:000000000000:ord*"`, Allowed},
		{"all but the resource", `"Effect":"Deny","Action":"*","NotResource":"` + orders + `"`, Unspecified},
		{"a variable", `"Effect":"Allow","Action":"*","Resource":"arn:aws:sqs:*:*:${aws:username}*"`, Unspecified},
		{"a variable without a value", `"Effect":"Allow","Action":"*","Resource":"*${aws:userid}"`, Unspecified},
		{"a variable that is not closed", `"Effect":"Allow","Action":"*","Resource":"*${aws"`, Unspecified},
		{"a literal star", `"Effect":"Allow","Action":"*","Resource":"${*}"`, Unspecified},

		{"anyone", allow + `"Action":"*","Principal":"*"`, Allowed},
		{"anyone of AWS", allow + `"Action":"*","Principal":{"AWS":"*"}`, Allowed},
		{"the account", allow + `"Action":"*","Principal":{"AWS":["1","000000000000"]}`, Allowed},
		{"the root of the account", allow + `"Action":"*","Principal":{"AWS":"arn:aws:iam::000000000000:root"}`, Allowed},
		{"the user", allow + `"Action":"*","Principal":{"AWS":"arn:aws:iam::000000000000:user/ada"}`, Allowed},
		{"another user", allow + `"Action":"*","Principal":{"AWS":"arn:aws:iam::000000000000:user/bob"}`, Unspecified},
		{"another account", allow + `"Action":"*","Principal":{"AWS":"111111111111"}`, Unspecified},
		{"a service", allow + `"Action":"*","Principal":{"Service":"sns.amazonaws.com"}`, Unspecified},
		{"not the user", `"Effect":"Deny","Action":"*","NotPrincipal":{"AWS":"arn:aws:iam::000000000000:user/ada"}`, Unspecified},
		{"not another user", `"Effect":"Deny","Action":"*","NotPrincipal":{"AWS":"arn:aws:iam::000000000000:user/bob"}`, Denied},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := parse(t, one(tc.members)).Evaluate(request(nil)).Effect; got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		condition string
		holds     bool
	}{
		{`"StringEquals":{"aws:username":"ada"}`, true},
		{`"StringEquals":{"AWS:UserName":["eve","ada"]}`, true},
		{`"StringEquals":{"aws:username":"Ada"}`, false},
		{`"StringEquals":{"aws:username":"${aws:username}"}`, true},
		{`"StringEquals":{"aws:username":"*${aws:username}"}`, false},
		{`"StringEquals":{"aws:username":"ada","aws:sourceip":"x"}`, false},
		{`"StringEquals":{"aws:sourcearn":"x"}`, false},
		{`"StringEqualsIfExists":{"aws:sourcearn":"x"}`, true},
		{`"StringEqualsIfExists":{"aws:username":"x"}`, false},
		{`"StringNotEquals":{"aws:username":"ada"}`, false},
		{`"StringNotEquals":{"aws:username":["eve","ada"]}`, false},
		{`"StringNotEquals":{"aws:username":"eve"}`, true},
		{`"StringNotEquals":{"aws:sourcearn":"x"}`, true},
		{`"StringEqualsIgnoreCase":{"aws:username":"ADA"}`, true},
		{`"StringNotEqualsIgnoreCase":{"aws:username":"ADA"}`, false},
		{`"StringLike":{"aws:useragent":"boto3/*"}`, true},
		{`"StringNotLike":{"aws:useragent":"boto3/*"}`, false},
		{`"ArnLike":{"aws:sourcearn":"arn:aws:sns:*"}`, false},
		{`"Bool":{"aws:SecureTransport":false}`, true},
		{`"Bool":{"aws:SecureTransport":"true"}`, false},
		{`"IpAddress":{"aws:SourceIp":["192.0.2.1","10.0.0.0/8"]}`, true},
		{`"IpAddress":{"aws:SourceIp":"10.1.2.3"}`, true},
		{`"IpAddress":{"aws:SourceIp":"nowhere"}`, false},
		{`"NotIpAddress":{"aws:SourceIp":"10.0.0.0/8"}`, false},
		{`"NotIpAddress":{"aws:SourceIp":"192.0.2.0/24"}`, true},
		{`"DateGreaterThan":{"aws:CurrentTime":"2026-11-22"}`, true},
		{`"DateLessThanEquals":{"aws:CurrentTime":"2026-11-23T09:59:59Z"}`, false},
		{`"DateLessThan":{"aws:EpochTime":"1795428001"}`, true},
		{`"NumericGreaterThanEquals":{"aws:EpochTime":1795428000}`, true},
		{`"NumericEquals":{"aws:username":0}`, false},
		{`"Null":{"aws:sourcearn":"true","aws:username":false}`, true},
		{`"Null":{"aws:username":"true"}`, false},
		{`"StringEquals":{"aws:username":"ada"},"Bool":{"aws:securetransport":"true"}`, false},
	} {
		t.Run(tc.condition, func(t *testing.T) {
			t.Parallel()
			d := parse(t, one(`"Effect":"Allow","Action":"*","Resource":"*","Condition":{`+tc.condition+`}`))
			if got := d.Evaluate(request(nil)).Effect == Allowed; got != tc.holds {
				t.Errorf("it holds: %t", got)
			}
		})
	}
}

// Who writes a condition that this server does not know is never permitted more by it.
func TestWhatIsNotUnderstood(t *testing.T) {
	t.Parallel()
	const odd = `,"Action":"*","Resource":"*","Condition":{"ForAnyValue:StringLike":{"aws:TagKeys":"a"}}`
	if got := parse(t, one(`"Effect":"Allow"`+odd)).Evaluate(request(nil)).Effect; got != Unspecified {
		t.Errorf("a permission has the effect %d", got)
	}
	if got := parse(t, one(`"Effect":"Deny"`+odd)).Evaluate(request(nil)).Effect; got != Denied {
		t.Errorf("a denial has the effect %d", got)
	}
}

// A value with wildcards in it is no pattern.
func TestVariablesAreText(t *testing.T) {
	t.Parallel()
	d := parse(t, one(`"Effect":"Allow","Action":"*","Resource":"arn:aws:sqs:*:${aws:username}"`))
	r := request(func(r *Request) { r.Keys["aws:username"] = []string{"*"} })
	if d.Evaluate(r).Effect != Unspecified {
		t.Error("a user called * may use every queue")
	}
	r.Resource = "arn:aws:sqs:eu-north-1:*"
	if d.Evaluate(r).Effect != Allowed {
		t.Error("a user called * may not use the queue of his name")
	}
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	const allow, deny = `"Effect":"Allow","Action":"*","Resource":"*"`, `"Effect":"Deny","Action":"*","Resource":"*"`
	const forForeign = `"Effect":"Allow","Action":"*","Resource":"*","Principal":{"AWS":"` + foreign + `"}`
	const forAll = `"Effect":"Allow","Action":"*","Resource":"*","Principal":"*"`
	ada, root := Caller{Account: own, User: "ada"}, Caller{Account: own}
	stranger, strangersRoot := Caller{Account: foreign, User: "eve"}, Caller{Account: foreign}
	for _, tc := range []struct {
		name               string
		caller             Caller
		ofCaller, resource string
		want               bool
		by                 Source
	}{
		{"no policy", ada, "", "", false, Nothing},
		{"a policy of the user", ada, allow, "", true, OfCaller},
		{"a policy of the queue", ada, "", forAll, true, OfResource},
		{"a policy of the queue for others", ada, "", forForeign, false, Nothing},
		{"denied by the queue", ada, allow, deny, false, OfResource},
		{"denied to the user", ada, deny, forAll, false, OfCaller},
		{"the account itself", root, "", "", true, Ownership},
		{"the account, denied by its queue", root, "", deny, false, OfResource},
		{"a stranger", stranger, allow, "", false, Nothing},
		{"a stranger whom only the queue permits", stranger, "", forForeign, false, Nothing},
		{"a stranger whom both permit", stranger, allow, forForeign, true, OfBoth},
		{"another account whom the queue permits", strangersRoot, "", forForeign, true, OfResource},
		{"another account", strangersRoot, "", "", false, Nothing},
		{"nobody", Caller{}, "", "", false, Nothing},
		{"nobody, at a queue for its account", Caller{}, "", forForeign, false, Nothing},
		{"a policy of the user who may by the queue, too", ada, allow, forAll, true, OfCaller},
		{"the account itself, permitted by its queue", root, "", forAll, true, OfResource},
		{"nobody, at a queue for all", Caller{}, "", forAll, true, OfResource},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var ofCaller, resource *Document
			if tc.ofCaller != "" {
				ofCaller = parse(t, one(tc.ofCaller))
			}
			if tc.resource != "" {
				resource = parse(t, one(tc.resource))
			}
			if got := Decide(request(func(r *Request) { r.Caller = tc.caller }), ofCaller, resource); got.Allowed != tc.want || got.By != tc.by {
				t.Errorf("decided %+v", got)
			}
		})
	}
}

// TestDecidingStatement names the statement that decides: the first that denies, else the
// first that permits.
func TestDecidingStatement(t *testing.T) {
	t.Parallel()
	d := parse(t, `{"Statement":[
		{"Sid":"other","Effect":"Allow","Action":"sns:*","Resource":"*"},
		{"Sid":"first","Effect":"Allow","Action":"sqs:*","Resource":"*"},
		{"Sid":"second","Effect":"Allow","Action":"sqs:Send*","Resource":"*"},
		{"Effect":"Deny","Action":"sqs:DeleteQueue","Resource":"*"},
		{"Sid":"late","Effect":"Deny","Action":"sqs:Delete*","Resource":"*"}]}`)
	for action, want := range map[string]Verdict{
		"sqs:SendMessage":   {Allowed, 2, "first"},
		"sns:Publish":       {Allowed, 1, "other"},
		"sqs:DeleteQueue":   {Denied, 4, ""},
		"sqs:DeleteMessage": {Denied, 5, "late"},
		"iam:CreateUser":    {},
	} {
		if got := d.Evaluate(request(func(r *Request) { r.Action = action })); got != want {
			t.Errorf("%s: %+v, want %+v", action, got, want)
		}
	}
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, `[]`, `{"Statement":1}`, `{"Statement":{"Effect":1}}`,
		one(`"Effect":"allow","Action":"*"`),
		one(`"Effect":"Allow"`),
		one(`"Effect":"Allow","Action":[]`),
		one(`"Effect":"Allow","Action":{}`),
		one(`"Effect":"Allow","Action":"*","NotAction":"*"`),
		one(`"Effect":"Allow","Action":"*","Resource":null`),
		one(`"Effect":"Allow","Action":"*","Principal":"me"`),
		one(`"Effect":"Allow","Action":"*","Principal":1`),
		one(`"Effect":"Allow","Action":"*","Principal":"*","NotPrincipal":"*"`),
		one(`"Effect":"Allow","Action":"*","Condition":[]`),
		one(`"Effect":"Allow","Action":"*","Condition":{"Bool":{"a":{}}}`),
	} {
		if _, err := Parse(text); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{`{}`, `{"Statement":[]}`, `{"Statement":{"Effect":"Deny","Action":"*"}}`} {
		parse(t, text)
	}
}

// No policy panics, takes long, or permits what one that denies everything forbids.
func FuzzEvaluate(f *testing.F) {
	f.Add(one(`"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringLike":{"aws:username":"${aws:username}*"}}`), orders)
	f.Add(one(`"Effect":"Deny","NotAction":"a*b*c*?","NotPrincipal":{"AWS":["*"]}`), "a*b")
	forbidden := parse(f, one(`"Effect":"Deny","Action":"*","Resource":"*"`))
	f.Fuzz(func(t *testing.T, text, resource string) {
		d, err := Parse(text)
		if err != nil {
			return
		}
		r := request(func(r *Request) { r.Resource = resource })
		d.Evaluate(r)
		if Decide(r, forbidden, d).Allowed || Decide(r, d, forbidden).Allowed {
			t.Errorf("%s permits what is denied", text)
		}
	})
}
