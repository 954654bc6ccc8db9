package iam

import "testing"

// TestProblems checks the text for each problem that a policy can have.
func TestProblems(t *testing.T) {
	t.Parallel()
	const user = `"Effect":"Allow","Action":"sqs:SendMessage","Resource":"*"`
	const queue = user + `,"Principal":"*"`
	ofQueue := func(principal string) string { return user + `,"Principal":` + principal }
	const names = `must be *, an account id of 12 digits, arn:aws:iam::<account>:root or arn:aws:iam::<account>:user/<name>`
	for _, tc := range []struct {
		kind       Kind
		text, want string
	}{
		{QueuePolicy, ``, "the policy is malformed: not JSON from byte 0 on"},
		{QueuePolicy, `[]`, "the policy is malformed: it must be a JSON object"},
		{QueuePolicy, `{}`, "Statement is missing"},
		{QueuePolicy, `{"Statement":"x"}`, "Statement: must be a list of statements"},
		{QueuePolicy, `{"Statement":[1]}`, "Statement[0]: must be an object"},
		{QueuePolicy, `{"statement":[]}`, "statement: there is no such member, did you mean Statement?"},
		{QueuePolicy, `{"Statement":[],"Statement":[]}`, "Statement: the member is there twice"},
		{QueuePolicy, `{"Version":"2012-10-18","Statement":[]}`, "Version: must be one of 2012-10-17, 2008-10-17"},
		{QueuePolicy, `{"Id":1,"Statement":[]}`, "Id: must be a string"},

		{QueuePolicy, one(queue + `,"Conditions":{}`), "Statement[0].Conditions: there is no such member, did you mean Condition?"},
		{QueuePolicy, one(queue + `,"condition":{}`), "Statement[0].condition: there is no such member, did you mean Condition?"},
		{UserPolicy, one(user + `,"Resources":"*"`), "Statement[0].Resources: there is no such member, did you mean Resource?"},
		{UserPolicy, one(user + `,"Sid":1`), "Statement[0].Sid: must be a string"},
		{UserPolicy, one(user + `,"Effect":"Deny"`), "Statement[0].Effect: the member is there twice"},
		{UserPolicy, one(`"Action":"*","Resource":"*"`), "Statement[0]: Effect is missing"},
		{UserPolicy, one(`"Effect":"allow","Action":"*","Resource":"*"`), "Statement[0].Effect: must be Allow or Deny"},
		{UserPolicy, one(`"Effect":"Allow","Resource":"*"`), "Statement[0]: Action is missing"},
		{UserPolicy, one(`"Effect":"Allow","Action":"*"`), "Statement[0]: Resource is missing"},
		{UserPolicy, one(`"Effect":"Allow","Action":[],"Resource":"*"`), "Statement[0].Action: the list is empty"},
		{UserPolicy, one(`"Effect":"Allow","Action":{},"Resource":"*"`), "Statement[0].Action: must be a string or a list of strings"},
		{UserPolicy, one(`"Effect":"Allow","Action":1,"Resource":"*"`), "Statement[0].Action: must be a string"},
		{UserPolicy, one(`"Effect":"Allow","Action":"*","NotAction":"*","Resource":"*"`), "Statement[0]: it has both Action and NotAction"},
		{UserPolicy, one(`"Effect":"Allow","Action":"*","Resource":null`), "Statement[0].Resource: must be a string or a list of strings"},
		{UserPolicy, one(`"Effect":"Allow","Action":"*","Resource":"*\u0000"`), "Statement[0].Resource: has a control character"},

		{UserPolicy, one(`"Effect":"Allow","Action":["*","sqs:SendMesage"],"Resource":"*"`),
			"Statement[0].Action[1]: there is no such action in this policy, did you mean sqs:SendMessage?"},
		{UserPolicy, one(`"Effect":"Allow","NotAction":"sqs:DeleteQeue","Resource":"*"`),
			"Statement[0].NotAction: there is no such action in this policy, did you mean sqs:DeleteQueue?"},
		{UserPolicy, one(`"Effect":"Allow","Action":"sqs:SendMessageBatch","Resource":"*"`),
			"Statement[0].Action: a batch needs the permission sqs:SendMessage"},
		{UserPolicy, one(`"Effect":"Allow","Action":"s3:GetObject","Resource":"*"`),
			"Statement[0].Action: there is no such action in this policy"},
		{QueuePolicy, one(`"Effect":"Allow","Principal":"*","Action":"sns:*","Resource":"*"`),
			"Statement[0].Action: there is no such action in this policy"},
		{TopicPolicy, one(`"Effect":"Allow","Principal":"*","Action":"sqs:*","Resource":"*"`),
			"Statement[0].Action: there is no such action in this policy"},
		{UserPolicy, one(`"Effect":"Allow","NotAction":"*","Resource":"*"`), "Statement[0]: it never applies: it is about no action"},

		{UserPolicy, one(`"Effect":"Allow","Action":"*","Resource":"arn:aws:s3:::bucket"`),
			"Statement[0].Resource: it is the ARN of no queue and no topic"},
		{UserPolicy, one(`"Effect":"Allow","Action":"*","Resource":"orders"`),
			"Statement[0].Resource: it is the ARN of no queue and no topic"},
		{QueuePolicy, one(`"Effect":"Allow","Principal":"*","Action":"*","Resource":"arn:aws:sns:*:*:*"`),
			"Statement[0].Resource: it is the ARN of no queue"},
		{UserPolicy, one(`"Effect":"Allow","Action":"sqs:*","Resource":"arn:aws:sns:*:*:*"`),
			"Statement[0]: it never applies: none of its actions is about such a resource"},
		{UserPolicy, one(`"Effect":"Allow","Action":"sqs:ListQueues","Resource":"arn:aws:sqs:*:*:*"`),
			"Statement[0]: it never applies: none of its actions is about such a resource"},
		{UserPolicy, one(`"Effect":"Allow","Action":"*","NotResource":"*"`),
			"Statement[0]: it never applies: none of its actions is about such a resource"},
		{QueuePolicy, one(`"Effect":"Allow","Principal":"*","Action":"*","Resource":"arn:aws:sqs:*:*:other"`),
			"Statement[0]: it never applies: it is not about " + orders},
		{QueuePolicy, one(`"Effect":"Deny","Principal":"*","Action":"*","NotResource":"` + orders + `"`),
			"Statement[0]: it never applies: it is not about " + orders},
		{UserPolicy, one(`"Effect":"Allow","Action":"*","NotResource":"*${aws:usrname}"`),
			"Statement[0].NotResource: there is no variable ${aws:usrname}, did you mean aws:username?"},
		{UserPolicy, one(`"Effect":"Allow","Action":"*","Resource":"*${aws"`), "Statement[0].Resource: the variable ${aws is not closed"},

		{QueuePolicy, one(user), `Statement[0]: Principal is missing: it says for whom the statement is, such as {"AWS":"111111111111"}`},
		{QueuePolicy, one(user + `,"principal":"*"`), "Statement[0].principal: there is no such member, did you mean Principal?"},
		{UserPolicy, one(queue), "Statement[0]: the policy of a user has no principal: it is about that user"},
		{QueuePolicy, one(ofQueue(`"222222222222"`)), `Statement[0].Principal: must be * or an object such as {"AWS":"111111111111"}`},
		{QueuePolicy, one(ofQueue(`{}`)), "Statement[0].Principal: it names no principal"},
		{QueuePolicy, one(ofQueue(`1`)), "Statement[0].Principal: must be an object"},
		{QueuePolicy, one(ofQueue(`{"AWS":[]}`)), "Statement[0].Principal.AWS: the list is empty"},
		{QueuePolicy, one(ofQueue(`{"aws":"*"}`)), "Statement[0].Principal.aws: there is no such kind of principal, did you mean AWS?"},
		{QueuePolicy, one(ofQueue(`{"CanonicalUser":"x"}`)), "Statement[0].Principal.CanonicalUser: there is no such kind of principal"},
		{QueuePolicy, one(ofQueue(`{"Service":"sns.amazonaws.con"}`)),
			"Statement[0].Principal.Service: must be the name of a service, such as sns.amazonaws.com"},
		{QueuePolicy, one(ofQueue(`{"AWS":["*","22222222222"]}`)), "Statement[0].Principal.AWS[1]: " + names},
		{QueuePolicy, one(ofQueue(`{"AWS":"arn:aws:iam::222222222222:user/*"}`)), "Statement[0].Principal.AWS: " + names},
		{QueuePolicy, one(ofQueue(`{"AWS":"arn:aws:iam::222222222222:user/team/bob"}`)), "Statement[0].Principal.AWS: " + names},
		{QueuePolicy, one(ofQueue(`{"AWS":"arn:aws:iam::222222222222:role/bob"}`)), "Statement[0].Principal.AWS: " + names},
		{QueuePolicy, one(ofQueue(`{"AWS":"arn:aws-us-gov:iam::222222222222:user/bob"}`)), "Statement[0].Principal.AWS: " + names},
		{QueuePolicy, one(ofQueue(`{"AWS":"arn:aws:iam::2222*:root"}`)), "Statement[0].Principal.AWS: " + names},
		{QueuePolicy, one(queue + `,"NotPrincipal":"*"`), "Statement[0]: it has both Principal and NotPrincipal"},
		{QueuePolicy, one(user + `,"NotPrincipal":{"AWS":"222222222222"}`),
			"Statement[0].NotPrincipal: it would permit everybody else: name the Principal"},
		{QueuePolicy, one(`"Effect":"Deny","Action":"*","Resource":"*","NotPrincipal":"*"`),
			"Statement[0].NotPrincipal: it never applies: it excludes every caller"},
		{QueuePolicy, one(`"Effect":"Deny","Action":"*","Resource":"*","Principal":{"Service":"s3.amazonaws.com"}`),
			"Statement[0].Principal: no service calls this server, so that this denies nothing"},
	} {
		own := ""
		if tc.kind == QueuePolicy {
			own = orders
		}
		if err := Check(tc.kind, own, tc.text); err == nil || err.Error() != tc.want {
			t.Errorf("%s:\n got %v\nwant %s", tc.text, err, tc.want)
		}
	}
	for _, text := range []string{
		one(`"Effect":"Deny","Action":"*","Resource":"*","NotPrincipal":{"Service":"sns.amazonaws.com"}`),
		`{"Statement":[]}`, one(queue), `{"Statement":{` + queue + `}}`,
		one(ofQueue(`{"Service":["sns.amazonaws.com"]}`) +
			`,"Condition":{"ArnEquals":{"aws:SourceArn":"arn:aws:sns:us-east-1:000000000000:t"}}`),
		one(`"Effect":"Allow","Principal":"*","Action":"*","Resource":["arn:aws:sqs:*:*:other","` + orders + `"]`),
	} {
		if err := Check(QueuePolicy, orders, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestConditionProblems is TestProblems for conditions.
func TestConditionProblems(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ effect, condition, want string }{
		{"Allow", `[]`, ": must be an object"},
		{"Allow", `null`, ": must be an object"},
		{"Allow", `{}`, ": it has no condition: leave it out"},
		{"Allow", `{"StringEquals":{}}`, ".StringEquals: it names no key"},
		{"Allow", `{"StringEquals":1}`, ".StringEquals: must be an object with keys and their values"},
		{"Allow", `{"StringEquals":{"aws:username":[]}}`, ".StringEquals.aws:username: the list is empty"},
		{"Allow", `{"StringEquals":{"aws:username":{}}}`, ".StringEquals.aws:username: must be a string or a list of strings"},
		{"Allow", `{"StringEqual":{"aws:username":"a"}}`, ".StringEqual: there is no such operator, did you mean StringEquals?"},
		{"Allow", `{"stringEquals":{"aws:username":"a"}}`, ".stringEquals: there is no such operator, did you mean StringEquals?"},
		{"Deny", `{"ForAnyValue:StringEquals":{"aws:username":"a"}}`, ".ForAnyValue:StringEquals: there is no such operator"},
		{"Allow", `{"NullIfExists":{"aws:username":"true"}}`, ".NullIfExists: there is no such operator, did you mean BoolIfExists?"},
		{"Allow", `{"StringEquals":{"aws:username":"a"},"StringEquals":{"aws:username":"b"}}`,
			".StringEquals: the operator is there twice"},
		{"Allow", `{"StringEquals":{"aws:username":"a","AWS:UserName":"b"}}`, ".StringEquals.AWS:UserName: the key is there twice"},
		{"Allow", `{"NotIpAddress":{"aws:SoureIp":"10.0.0.0/8"}}`,
			".NotIpAddress.aws:SoureIp: there is no such condition key, did you mean aws:sourceip?"},
		{"Allow", `{"StringEquals":{"aws:PrincipalTag/":"a"}}`,
			".StringEquals.aws:PrincipalTag/: there is no such condition key, did you mean aws:principaltag/?"},
		{"Allow", `{"StringNotEquals":{"aws:SourceIp":"10.0.0.0/8"}}`,
			".StringNotEquals.aws:SourceIp: StringNotEquals does not compare this key"},
		{"Allow", `{"NotIpAddress":{"aws:SourceIp":"10.0.0.0/33"}}`,
			".NotIpAddress.aws:SourceIp: must be an address or a network such as 10.0.0.0/8"},
		{"Allow", `{"NotIpAddress":{"aws:SourceIp":["10.0.0.0/8","::ffff:10.0.0.0/104"]}}`,
			".NotIpAddress.aws:SourceIp[1]: must be an address or a network such as 10.0.0.0/8"},
		{"Allow", `{"DateGreaterThan":{"aws:CurrentTime":"tomorrow"}}`,
			".DateGreaterThan.aws:CurrentTime: must be a date such as 2030-01-31T00:00:00Z"},
		{"Allow", `{"Bool":{"aws:SecureTransport":"yes"}}`, ".Bool.aws:SecureTransport: must be true or false"},
		{"Allow", `{"Null":{"aws:username":"no"}}`, ".Null.aws:username: must be true or false"},
		{"Allow", `{"ArnNotEquals":{"aws:PrincipalArn":"bob"}}`, ".ArnNotEquals.aws:PrincipalArn: must be an ARN"},
		{"Allow", `{"NumericNotEquals":{"aws:MultiFactorAuthAge":"NaN"}}`, ".NumericNotEquals.aws:MultiFactorAuthAge: must be a number"},
		{"Allow", `{"StringNotEquals":{"aws:username":"${aws:usrname}"}}`,
			".StringNotEquals.aws:username: there is no variable ${aws:usrname}, did you mean aws:username?"},
		{"Allow", `{"StringNotEquals":{"aws:SourceVpce":"x"}}`,
			".StringNotEquals.aws:SourceVpce: no request has this key, so that the condition always holds"},
		{"Allow", `{"StringEqualsIfExists":{"aws:SourceVpce":"x"}}`,
			".StringEqualsIfExists.aws:SourceVpce: no request has this key, so that the condition always holds"},
		{"Allow", `{"Null":{"aws:SourceVpce":"true"}}`, ".Null.aws:SourceVpce: no request has this key, so that the condition always " +
			"holds"},
		{"Deny", `{"StringEquals":{"aws:SourceVpce":"x"}}`, ".StringEquals.aws:SourceVpce: no request has this key, so that this denies " +
			"nothing"},
	} {
		text := one(`"Effect":"` + tc.effect + `","Action":"*","Resource":"*","Condition":` + tc.condition)
		if err := Check(UserPolicy, "", text); err == nil || err.Error() != "Statement[0].Condition"+tc.want {
			t.Errorf("%s:\n got %v\nwant Statement[0].Condition%s", text, err, tc.want)
		}
	}
	for _, text := range []string{
		one(`"Effect":"Deny","Action":"*","Resource":"*","Condition":{"StringNotEquals":{"aws:SourceVpce":"x"}}`),
		one(`"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringEquals":{"aws:PrincipalTag/team":"a"}}`),
	} {
		if err := Check(UserPolicy, "", text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestOverlap compares the result for two patterns with a search over all short texts.
func TestOverlap(t *testing.T) {
	t.Parallel()
	const letters = "ab*?"
	patterns := []string{""}
	for from := 0; len(patterns[from]) < 4; from++ {
		for _, c := range letters {
			patterns = append(patterns, patterns[from]+string(c))
		}
	}
	texts := []string{""}
	for from := 0; len(texts[from]) < 8; from++ {
		texts = append(texts, texts[from]+"a", texts[from]+"b")
	}
	means := map[string]map[string]bool{}
	for _, p := range patterns {
		means[p] = map[string]bool{}
		for _, text := range texts {
			if matchWildcards(p, text) {
				means[p][text] = true
			}
		}
	}
	for i, a := range patterns {
		for _, b := range patterns[i%3:] { // checking a part of them is enough
			common := false
			for text := range means[a] {
				if common = means[b][text]; common {
					break
				}
			}
			if overlap(a, b) != common {
				t.Fatalf("%q and %q have a text in common: %t", a, b, common)
			}
		}
	}
}
