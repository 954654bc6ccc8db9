package iam

import (
	"strings"
	"testing"
)

const (
	own     = "000000000000"
	foreign = "111111111111"
	orders  = "arn:aws:sqs:eu-north-1:000000000000:orders.fifo"
)

// kindOf returns the kind of policy that a text is for.
func kindOf(text string) Kind {
	if strings.Contains(text, `Principal"`) {
		return QueuePolicy
	}
	return UserPolicy
}

func parse(t testing.TB, text string) *Document {
	t.Helper()
	d, err := Parse(kindOf(text), text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return d
}

// one returns a policy with one statement.
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
		{"a star in the middle", allow + `"Action":"s*:*Me*ge"`, Allowed},
		{"another action", allow + `"Action":"sqs:ReceiveMessage"`, Unspecified},
		{"all but another", allow + `"NotAction":["sqs:DeleteQueue"]`, Allowed},
		{"all but this", allow + `"NotAction":["sqs:Send*"]`, Unspecified},
		{"denied", `"Effect":"Deny","Action":"*","Resource":"*"`, Denied},
		{"the resource", `"Effect":"Allow","Action":"*","Resource":"` + orders + `"`, Allowed},
		{"resources are compared exactly", `"Effect":"Allow","Action":"*","Resource":"` +
			strings.Replace(orders, "orders", "Orders", 1) + `"`, Unspecified},
		{"a part of the resource", `"Effect":"Allow","Action":"*","Resource":"arn:aws:sqs:*:000000000000:ord*"`, Allowed},
		{"all but the resource", `"Effect":"Deny","Action":"*","NotResource":"` + orders + `"`, Unspecified},
		{"a variable", `"Effect":"Allow","Action":"*","Resource":"arn:aws:sqs:*:*:${aws:username}*"`, Unspecified},
		{"a variable without a value", `"Effect":"Allow","Action":"*","Resource":"*${aws:principalarn}"`, Unspecified},
		{"all but a variable without a value", `"Effect":"Allow","Action":"*","NotResource":"*${aws:principalarn}x"`, Unspecified},
		{"denied but for a variable without a value", `"Effect":"Deny","Action":"*","NotResource":"*${aws:principalarn}"`, Denied},
		{"a literal star", `"Effect":"Allow","Action":"*","Resource":"${*}"`, Unspecified},

		{"anyone", allow + `"Action":"*","Principal":"*"`, Allowed},
		{"anyone of AWS", allow + `"Action":"*","Principal":{"AWS":"*"}`, Allowed},
		{"the account", allow + `"Action":"*","Principal":{"AWS":["222222222222","000000000000"]}`, Allowed},
		{"the root of the account", allow + `"Action":"*","Principal":{"AWS":"arn:aws:iam::000000000000:root"}`, Allowed},
		{"the user", allow + `"Action":"*","Principal":{"AWS":"arn:aws:iam::000000000000:user/ada"}`, Allowed},
		{"the user in other letters", allow + `"Action":"*","Principal":{"AWS":"arn:aws:iam::000000000000:user/ADA"}`, Unspecified},
		{"another user", allow + `"Action":"*","Principal":{"AWS":"arn:aws:iam::000000000000:user/bob"}`, Unspecified},
		{"another account", allow + `"Action":"*","Principal":{"AWS":"111111111111"}`, Unspecified},
		{"a service", allow + `"Action":"*","Principal":{"Service":"sns.amazonaws.com"}`, Unspecified},
		{"not the user", `"Effect":"Deny","Action":"*","Resource":"*","NotPrincipal":{"AWS":"arn:aws:iam::000000000000:user/ada"}`,
			Unspecified},
		{"not another user", `"Effect":"Deny","Action":"*","Resource":"*","NotPrincipal":{"AWS":"arn:aws:iam::000000000000:user/bob"}`,
			Denied},
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
		{`"StringEquals":{"aws:username":"ada","aws:useragent":"x"}`, false},
		{`"StringEquals":{"aws:sourcearn":"x"}`, false},
		{`"StringEqualsIfExists":{"aws:PrincipalAccount":"x"}`, true},
		{`"StringEqualsIfExists":{"aws:username":"x"}`, false},
		{`"StringNotEquals":{"aws:username":"ada"}`, false},
		{`"StringNotEquals":{"aws:username":["eve","ada"]}`, false},
		{`"StringNotEquals":{"aws:username":"eve"}`, true},
		{`"StringNotEquals":{"aws:PrincipalAccount":"x"}`, true},
		{`"StringEqualsIgnoreCase":{"aws:username":"ADA"}`, true},
		{`"StringEqualsIgnoreCase":{"aws:username":"${aws:username}"}`, true},
		{`"StringNotEqualsIgnoreCase":{"aws:username":"ADA"}`, false},
		{`"StringNotEqualsIgnoreCase":{"aws:username":"${aws:username}"}`, false},
		{`"StringLike":{"aws:useragent":"boto3/*"}`, true},
		{`"StringNotLike":{"aws:useragent":"boto3/*"}`, false},
		{`"ArnLike":{"aws:sourcearn":"arn:aws:sns:*"}`, false},
		{`"Bool":{"aws:SecureTransport":false}`, true},
		{`"Bool":{"aws:SecureTransport":"true"}`, false},
		{`"IpAddress":{"aws:SourceIp":["192.0.2.1","10.0.0.0/8"]}`, true},
		{`"IpAddress":{"aws:SourceIp":"10.1.2.3"}`, true},
		{`"NotIpAddress":{"aws:SourceIp":"10.0.0.0/8"}`, false},
		{`"NotIpAddress":{"aws:SourceIp":"192.0.2.0/24"}`, true},
		{`"DateGreaterThan":{"aws:CurrentTime":"2026-11-22"}`, true},
		{`"DateLessThanEquals":{"aws:CurrentTime":"2026-11-23T09:59:59Z"}`, false},
		{`"DateLessThan":{"aws:EpochTime":"1795428001"}`, true},
		{`"NumericGreaterThanEquals":{"aws:EpochTime":1795428000}`, true},
		{`"Null":{"aws:PrincipalArn":"true","aws:username":false}`, true},
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

// TestStored reads policies that are invalid by today's rules. They permit nothing, valid denials
// in them still apply, and a part that may be a denial denies everything.
func TestStored(t *testing.T) {
	t.Parallel()
	const allow = `{"Effect":"Allow","Principal":"*","Action":"*","Resource":"*"}`
	const denySend = `{"Effect":"Deny","Principal":"*","Action":"sqs:SendMessage","Resource":"*"}`
	for _, tc := range []struct {
		name, text string
		send, list Effect // of sqs:SendMessage, and of another action
	}{
		{"sound", `{"Statement":[` + allow + `,` + denySend + `]}`, Denied, Allowed},
		{"no JSON", `{`, Denied, Denied},
		{"an unknown member", `{"statement":[` + allow + `]}`, Denied, Denied},
		{"statements that are none", `{"Statement":"x"}`, Denied, Denied},
		{"a permission without a principal", `{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}`, Unspecified, Unspecified},
		{"beside a sound permission", `{"Statement":[` + allow + `,{"Effect":"Allow","Action":"*","Resource":"*"}]}`, Unspecified,
			Unspecified},
		{"beside a sound denial", `{"Statement":[` + allow + `,` + denySend + `,{"Effect":"Allow","Action":"*"}]}`, Denied, Unspecified},
		{"a denial", `{"Statement":[` + allow + `,{"Effect":"Deny","principal":"*","Action":"*","Resource":"*"}]}`, Denied, Denied},
		{"a denial for a principal that is not understood", `{"Statement":[` + allow +
			`,{"Effect":"Deny","Principal":{"AWS":"arn:aws:iam::222222222222:user/*"},"Action":"*","Resource":"*"}]}`, Denied, Denied},
		{"an unknown effect", `{"Statement":[{"Effect":"allow","Principal":"*","Action":"*","Resource":"*"}]}`, Denied, Denied},
		{"two effects", `{"Statement":[{"Effect":"Allow","Effect":"Deny","Principal":"*","Action":"*","Resource":"*"}]}`, Denied, Denied},
		{"an effect in other letters", `{"Statement":[{"effect":"Deny","Effect":"Allow","Principal":"*","Action":"*","Resource":"*"}]}`,
			Denied, Denied},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d := Stored(QueuePolicy, tc.text)
			if got := d.Evaluate(request(nil)).Effect; got != tc.send {
				t.Errorf("sqs:SendMessage: got %d, want %d", got, tc.send)
			}
			if got := d.Evaluate(request(func(r *Request) { r.Action = "sqs:ListQueueTags" })).Effect; got != tc.list {
				t.Errorf("sqs:ListQueueTags: got %d, want %d", got, tc.list)
			}
		})
	}
}

// The value of a variable is not a pattern, even if it contains wildcards.
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
	const denyAll = deny + `,"Principal":"*"`
	const forForeign = `"Effect":"Allow","Action":"*","Resource":"*","Principal":{"AWS":"` + foreign + `"}`
	const forAll = `"Effect":"Allow","Action":"*","Resource":"*","Principal":"*"`
	ada, root := Caller{Account: own, User: "ada"}, Caller{Account: own}
	other, otherRoot := Caller{Account: foreign, User: "eve"}, Caller{Account: foreign}
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
		{"denied by the queue", ada, allow, denyAll, false, OfResource},
		{"denied to the user", ada, deny, forAll, false, OfCaller},
		{"the account itself", root, "", "", true, Ownership},
		{"the account, denied by its queue", root, "", denyAll, false, OfResource},
		{"a other", other, allow, "", false, Nothing},
		{"a other whom only the queue permits", other, "", forForeign, false, Nothing},
		{"a other whom both permit", other, allow, forForeign, true, OfBoth},
		{"another account whom the queue permits", otherRoot, "", forForeign, true, OfResource},
		{"another account", otherRoot, "", "", false, Nothing},
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
			if got := Decide(request(func(r *Request) { r.Caller = tc.caller }), ofCaller, resource); got.Allowed != tc.want ||
				got.By != tc.by {
				t.Errorf("decided %+v", got)
			}
		})
	}
}

// TestDecidingStatement checks which statement is reported: the first that denies, or else the
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

// FuzzPolicy checks for any text that nothing panics, that a refused policy permits nothing, and
// that no policy permits what another one denies.
func FuzzPolicy(f *testing.F) {
	f.Add(one(`"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringLike":{"aws:username":"${aws:username}*"}}`), orders)
	f.Add(one(`"Effect":"Deny","NotAction":"s*:*Queue?","Resource":"*","NotPrincipal":{"AWS":["111111111111"]}`), "a*b")
	f.Add(one(`"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":"*","Resource":"*","Conditions":{}`), orders)
	forbidden := parse(f, one(`"Effect":"Deny","Action":"*","Resource":"*"`))
	f.Fuzz(func(t *testing.T, text, resource string) {
		r := request(func(r *Request) { r.Resource = resource })
		for _, kind := range []Kind{UserPolicy, QueuePolicy, TopicPolicy} {
			d, err := Parse(kind, text)
			kept := Stored(kind, text)
			if err != nil && kept.Evaluate(r).Effect == Allowed {
				t.Errorf("%s is refused (%v) and permits", text, err)
			}
			if err == nil && kept.Evaluate(r) != d.Evaluate(r) {
				t.Errorf("%s: what is stored means something else", text)
			}
			if Check(kind, orders, text) == nil && err != nil {
				t.Errorf("%s may be stored, and is refused: %v", text, err)
			}
			if Decide(r, forbidden, kept).Allowed || Decide(r, kept, forbidden).Allowed {
				t.Errorf("%s permits what is denied", text)
			}
		}
	})
}
