package policies

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
)

const (
	home    = "111111111111"
	abroad  = "222222222222"
	orders  = "arn:aws:sqs:us-east-1:" + home + ":orders"
	billing = "arn:aws:sqs:us-east-1:" + home + ":billing"
	news    = "arn:aws:sns:us-east-1:" + home + ":news"
)

// policy is a policy of a user or of the queue orders.
type policy struct {
	ofUser     bool
	statements []*statement
}

type statement struct {
	effect           string
	principals       []string // nil: a policy of a user
	exceptPrincipals bool
	actions          []string
	exceptActions    bool
	resources        []string
	exceptResources  bool
	conditions       []condition
}

type condition struct {
	operator, key string
	values        []string
}

// source draws random parts of policies and requests.
type source struct{ *rand.Rand }

func pick[T any](s source, of ...T) T { return of[s.IntN(len(of))] }

func (s source) chance(percent int) bool { return s.IntN(100) < percent }

// some returns one to three values of a list.
func some[T any](s source, of ...T) (out []T) {
	for range 1 + s.IntN(3) {
		out = append(out, pick(s, of...))
	}
	return out
}

func (s source) policy(ofUser bool) *policy {
	p := &policy{ofUser: ofUser}
	for range 1 + s.IntN(3) {
		p.statements = append(p.statements, s.statement(ofUser))
	}
	return p
}

func (s source) statement(ofUser bool) *statement {
	st := &statement{effect: pick(s, "Allow", "Allow", "Deny")}
	actions := []string{"sqs:SendMessage", "sqs:ReceiveMessage", "SQS:sendmessage", "sqs:Delete*", "sqs:*Message", "sqs:*",
		"sqs:SendMessag?"}
	resources := []string{"*", orders, "arn:aws:sqs:*:*:orders", "arn:aws:sqs:us-east-1:" + home + ":*", "arn:aws:sqs:*:*:${aws:username}*",
		"arn:aws:sqs:*:*:order?"}
	if ofUser {
		actions = append(actions, "*", "sns:Publish")
		resources = append(resources, billing, news)
	} else {
		st.principals = some(s, "*", home, abroad, "arn:aws:iam::"+home+":root", "arn:aws:iam::"+home+":user/ada",
			"arn:aws:iam::"+home+":user/Ada", "arn:aws:iam::"+abroad+":user/bob")
		if st.effect == "Deny" && s.chance(30) {
			st.exceptPrincipals, st.principals = true, st.principals[:1]
			if st.principals[0] == "*" {
				st.principals[0] = home
			}
		}
	}
	st.actions, st.resources = some(s, actions...), some(s, resources...)
	if s.chance(15) {
		st.exceptActions, st.actions = true, []string{pick(s, "sqs:SendMessage", "sqs:Delete*")}
	}
	if ofUser && s.chance(15) {
		st.exceptResources, st.resources = true, []string{pick(s, orders, billing, "arn:aws:sqs:*:*:order*")}
	}
	if !ofUser || st.exceptActions { // so that each statement may apply
		st.resources = append(st.resources, pick(s, "*", orders))
		if st.exceptResources {
			st.resources = st.resources[:1]
		}
	}
	if ofUser && !st.exceptResources {
		st.resources = append(st.resources, pick(s, "*", "arn:aws:*:us-east-1:"+home+":*"))
	}
	for range s.IntN(3) {
		st.conditions = append(st.conditions, s.condition())
	}
	return st
}

func (s source) condition() condition {
	not := func(positive, negative string) string { return pick(s, positive, negative) }
	c := condition{}
	switch s.IntN(6) {
	case 0:
		c.key, c.operator = pick(s, "aws:username", "AWS:UserName"), not("StringEquals", "StringNotEquals")
		c.values = some(s, "ada", "Ada", "bob")
	case 1:
		c.key, c.operator = "aws:useragent", not("StringLike", "StringNotLike")
		c.values = some(s, "boto3/*", "*go*", "curl/?")
	case 2:
		c.key, c.operator = "aws:SourceIp", not("IpAddress", "NotIpAddress")
		c.values = some(s, "10.0.0.0/8", "10.1.2.3", "192.0.2.0/24", "2001:db8::/32")
	case 3:
		c.key, c.operator = "aws:CurrentTime",
			pick(s, "DateLessThan", "DateLessThanEquals", "DateGreaterThan", "DateGreaterThanEquals", "DateEquals", "DateNotEquals")
		c.values = some(s, "2030-01-01T00:00:00Z", "2030-01-02T00:00:00Z", "2030-01-03T00:00:00Z")
	case 4:
		c.key, c.operator, c.values = "aws:SecureTransport", "Bool", []string{pick(s, "true", "false")}
	case 5:
		c.key, c.operator = "aws:PrincipalArn", pick(s, "ArnLike", "ArnNotLike", "ArnEquals", "StringEqualsIgnoreCase")
		c.values = some(s, "arn:aws:iam::"+home+":user/ada", "arn:aws:iam::"+home+":root")
	}
	if s.chance(20) {
		c.operator += "IfExists"
	}
	if s.chance(10) {
		c.operator, c.values = "Null", []string{pick(s, "true", "false")}
	}
	return c
}

func (s source) request(ofUser bool) *request {
	caller := pick(s, [2]string{home, "ada"}, [2]string{home, "ada"}, [2]string{home, "Ada"}, [2]string{abroad, "bob"}, [2]string{home, ""},
		[2]string{abroad, ""}, [2]string{})
	r := &request{account: caller[0], user: caller[1], owner: home, resource: orders, keys: map[string][]string{}}
	r.action = pick(s, "sqs:SendMessage", "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:DeleteQueue", "sqs:GetQueueAttributes")
	if ofUser && s.chance(30) {
		r.resource = billing
	}
	if r.account != "" {
		r.keys["aws:principalaccount"] = []string{r.account}
		r.keys["aws:principalarn"] = []string{"arn:aws:iam::" + r.account + ":root"}
		if r.user != "" {
			r.keys["aws:principalarn"] = []string{"arn:aws:iam::" + r.account + ":user/" + r.user}
			r.keys["aws:username"] = []string{r.user}
		}
	}
	r.keys["aws:currenttime"] = []string{pick(s, "2030-01-01T00:00:00Z", "2030-01-02T00:00:00Z", "2030-01-02T12:00:00Z")}
	r.keys["aws:securetransport"] = []string{pick(s, "true", "false")}
	if s.chance(80) {
		r.keys["aws:sourceip"] = []string{pick(s, "10.1.2.3", "192.0.2.9", "198.51.100.1", "2001:db8::1")}
	}
	if s.chance(80) {
		r.keys["aws:useragent"] = []string{pick(s, "boto3/1.40", "aws-sdk-go", "curl/8")}
	}
	return r
}

// object is a JSON object whose members keep their order and may be repeated.
type object []member

type member struct {
	name  string
	value any // a string, a list of them or of objects, or an object
}

// tree returns the statement as JSON.
func (st *statement) tree(s source) object {
	o := object{{"Effect", st.effect}}
	add := func(except bool, name string, value any) {
		if except {
			name = "Not" + name
		}
		o = append(o, member{name, value})
	}
	if st.principals != nil {
		if len(st.principals) == 1 && st.principals[0] == "*" && s.chance(50) {
			add(false, "Principal", "*")
		} else {
			add(st.exceptPrincipals, "Principal", object{{"AWS", oneOrMany(s, st.principals)}})
		}
	}
	add(st.exceptActions, "Action", oneOrMany(s, st.actions))
	add(st.exceptResources, "Resource", oneOrMany(s, st.resources))
	if len(st.conditions) > 0 {
		o = append(o, member{"Condition", st.conditionTree(s)})
	}
	return o
}

// conditionTree returns the conditions as JSON, at most one for an operator and a key.
func (st *statement) conditionTree(s source) (byOperator object) {
	var kept []condition
next:
	for _, c := range st.conditions {
		at := -1
		for i := range byOperator {
			if byOperator[i].name == c.operator {
				at = i
			}
		}
		if at < 0 {
			byOperator = append(byOperator, member{c.operator, object{}})
			at = len(byOperator) - 1
		}
		keys := byOperator[at].value.(object)
		for _, k := range keys {
			if strings.EqualFold(k.name, c.key) {
				continue next
			}
		}
		kept = append(kept, c)
		byOperator[at].value = append(keys, member{c.key, oneOrMany(s, c.values)})
	}
	st.conditions = kept
	return byOperator
}

func oneOrMany(s source, texts []string) any {
	if len(texts) == 1 && s.chance(50) {
		return texts[0]
	}
	list := make([]any, len(texts))
	for i, t := range texts {
		list[i] = t
	}
	return list
}

// text returns the JSON text.
func text(value any) string {
	switch v := value.(type) {
	case object:
		parts := make([]string, len(v))
		for i, m := range v {
			parts[i] = text(m.name) + ":" + text(m.value)
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = text(e)
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	out, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings can be written
	}
	return string(out)
}
