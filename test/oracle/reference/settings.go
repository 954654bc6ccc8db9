package reference

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Settings are the queue attributes that affect what the queue does.
type Settings struct {
	Deduplication
	Delay, Retention, Visibility, MaxSize int64
	AttemptWindow, PerGroup               int64
	GroupOptional, YMQReceive             bool
	Implicit, Reserved, DeadLetterKeepsID bool
	Paused                                bool
	TimeToLive                            int64 // seconds; 0: none
	DeadLetterExpired                     bool
	Status                                string
	MaxMegabytes                          int64 // 0: no limit
	AutoDelete                            int64 // seconds; 0: never
	ForwardTo, ForwardDead                string
	Profile                               string
	Redrive                               Redrive
	Allow                                 Allow
}

// Deduplication contains the settings for the rules of servicebus.md 5.4.
type Deduplication struct {
	DeduplicationOff           bool
	ContentBased, IDAndContent bool
	Scope                      string
	Window, MaxEntries         int64
	PurgeClearsHistory         bool
}

// Redrive is RedrivePolicy. Target is a name, empty if there is no policy.
type Redrive struct {
	Target      string
	MaxReceives int64
}

// Allow is RedriveAllowPolicy; an empty Permission is allowAll.
type Allow struct {
	Permission string
	Sources    []string
}

func defaults() Settings {
	return Settings{
		Deduplication: Deduplication{Scope: scopeQueue, Window: 300, PurgeClearsHistory: true},
		Retention:     345_600, Visibility: 30, MaxSize: 1 << 20,
		AttemptWindow: 300, PerGroup: 10, Profile: "aws", Status: "Active",
	}
}

// preset applies CompatibilityProfile, before the explicit attributes (ymq.md 8, servicebus.md
// 5.2).
func (s *Settings) preset(profile string) {
	s.Profile = profile
	switch profile {
	case "ymq":
		s.PerGroup, s.YMQReceive = 1, true
		s.PurgeClearsHistory, s.DeadLetterKeepsID = false, true
	case "servicebus":
		s.Window = 600
		s.PurgeClearsHistory, s.DeadLetterKeepsID = false, true
	}
}

func wholeNumber(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text
}

func truth(text string) (value, ok bool) {
	switch strings.ToLower(text) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// number describes a numeric attribute with its range.
type number struct {
	low, high int64
	at        func(*Settings) *int64
}

func (b *Broker) numbers() map[string]number {
	least := b.minimumWindow()
	return map[string]number{
		"DelaySeconds":                  {0, 900, func(s *Settings) *int64 { return &s.Delay }},
		"MessageRetentionPeriod":        {60, 1_209_600, func(s *Settings) *int64 { return &s.Retention }},
		"VisibilityTimeout":             {0, 43_200, func(s *Settings) *int64 { return &s.Visibility }},
		"MaximumMessageSize":            {1024, 1 << 20, func(s *Settings) *int64 { return &s.MaxSize }},
		"DeduplicationWindowSeconds":    {least, 604_800, func(s *Settings) *int64 { return &s.Window }},
		"ReceiveAttemptWindowSeconds":   {least, 3600, func(s *Settings) *int64 { return &s.AttemptWindow }},
		"MaxDeduplicationEntries":       {0, 1 << 62, func(s *Settings) *int64 { return &s.MaxEntries }},
		"DefaultTimeToLiveSeconds":      {0, 922_337_203_685, func(s *Settings) *int64 { return &s.TimeToLive }},
		"AutoDeleteOnIdleSeconds":       {300, 3_155_760_000, func(s *Settings) *int64 { return &s.AutoDelete }},
		"MaxSizeInMegabytes":            {0, 1 << 20, func(s *Settings) *int64 { return &s.MaxMegabytes }},
		"MaxMessagesPerGroupPerReceive": {1, 10, func(s *Settings) *int64 { return &s.PerGroup }},
	}
}

var switches = map[string]func(*Settings) *bool{
	"ContentBasedDeduplication":       func(s *Settings) *bool { return &s.ContentBased },
	"ImplicitDeadLetterQueue":         func(s *Settings) *bool { return &s.Implicit },
	"ReservedAttributesEnabled":       func(s *Settings) *bool { return &s.Reserved },
	"PurgeClearsDeduplicationHistory": func(s *Settings) *bool { return &s.PurgeClearsHistory },
	"DeadLetterOnExpiration":          func(s *Settings) *bool { return &s.DeadLetterExpired },
	"DeliveryPaused":                  func(s *Settings) *bool { return &s.Paused },
	"DeadLetterKeepsDeduplicationId":  func(s *Settings) *bool { return &s.DeadLetterKeepsID },
}

// choices lists the attributes that are one of a few words.
var choices = map[string]struct {
	words []string
	set   func(*Settings, string)
	get   func(*Settings) string
}{
	"DeduplicationScope": {
		[]string{scopeQueue, scopeGroup, scopePartition},
		func(s *Settings, w string) { s.Scope = w },
		func(s *Settings) string { return s.Scope },
	},
	"ContentDeduplicationMode": {
		[]string{"IdOverrides", "IdAndContent"},
		func(s *Settings, w string) { s.IDAndContent = w == "IdAndContent" },
		func(s *Settings) string { return pick(s.IDAndContent, "IdAndContent", "IdOverrides") },
	},
	"DeduplicationEnabled": {
		[]string{"true", "false"},
		func(s *Settings, w string) { s.DeduplicationOff = w == "false" },
		func(s *Settings) string { return pick(s.DeduplicationOff, "false", "true") },
	},
	"MessageGroupIdMode": {
		[]string{"Required", "Optional"},
		func(s *Settings, w string) { s.GroupOptional = w == "Optional" },
		func(s *Settings) string { return pick(s.GroupOptional, "Optional", "Required") },
	},
	"EntityStatus": {
		[]string{"Active", "Disabled", "SendDisabled", "ReceiveDisabled"},
		func(s *Settings, w string) { s.Status = w },
		func(s *Settings) string { return s.Status },
	},
	"ReceiveCompatibility": {
		[]string{"aws", "ymq"},
		func(s *Settings, w string) { s.YMQReceive = w == "ymq" },
		func(s *Settings) string { return pick(s.YMQReceive, "ymq", "aws") },
	},
	"CompatibilityProfile": {
		[]string{"aws", "ymq", "servicebus"},
		func(s *Settings, w string) { s.Profile = w },
		func(s *Settings) string { return s.Profile },
	},
}

func pick(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

// fixed lists the attributes that cannot change after the creation (servicebus.md 5.2).
var fixed = []string{
	"DeduplicationEnabled", "MessageGroupIdMode", "ReceiveCompatibility", "CompatibilityProfile",
}

// attributesOrder lists names in the order in which they are checked.
func attributesOrder(given map[string]string) []string {
	names := []string{}
	for name := range given {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// assign sets an attribute to the value of a text.
func (b *Broker) assign(s *Settings, name, value string) *Error {
	bad := &Error{"InvalidAttributeValue", "Invalid value for the parameter " + name + "."}
	if n, ok := b.numbers()[name]; ok {
		v, whole := wholeNumber(value)
		never := name == "AutoDeleteOnIdleSeconds" && value == "0"
		if !whole || (v < n.low || v > n.high) && !never {
			if strings.HasSuffix(name, "WindowSeconds") {
				bad.Text = ""
			}
			return bad
		}
		*n.at(s) = v
		return nil
	}
	if at, ok := switches[name]; ok {
		v, isBool := truth(value)
		if !isBool {
			return bad
		}
		*at(s) = v
		return nil
	}
	if c, ok := choices[name]; ok {
		if name == "DeduplicationEnabled" {
			value = strings.ToLower(value)
		}
		if !slices.Contains(c.words, value) {
			return bad
		}
		c.set(s, value)
		return nil
	}
	switch name {
	case "ForwardTo":
		s.ForwardTo = value
		return nil
	case "ForwardDeadLetteredMessagesTo":
		s.ForwardDead = value
		return nil
	case "FifoQueue":
		return nil // checked together with the type
	case "RedrivePolicy":
		return assignRedrive(s, value)
	case "RedriveAllowPolicy":
		return assignAllow(s, value)
	}
	return &Error{"InvalidAttributeName", "Unknown Attribute " + name + "."}
}

func arnName(arn string) string { return arn[strings.LastIndex(arn, ":")+1:] }

// assignRedrive makes the checks of sqs.md 3.3 that need no other queue.
func assignRedrive(s *Settings, value string) *Error {
	if value == "" || value == "{}" {
		s.Redrive = Redrive{}
		return nil
	}
	var policy struct {
		DeadLetterTargetArn string
		MaxReceiveCount     json.Number
	}
	bad := func(reason string) *Error {
		if reason == "" {
			return &Error{Code: "InvalidParameterValue"}
		}
		return &Error{"InvalidParameterValue", "Value " + value + " for parameter RedrivePolicy is invalid. Reason: " + reason}
	}
	if json.Unmarshal([]byte(value), &policy) != nil {
		return bad("")
	}
	count, whole := wholeNumber(policy.MaxReceiveCount.String())
	if !whole || count < 1 || count > 1000 {
		return bad("Invalid value for maxReceiveCount: " + policy.MaxReceiveCount.String() +
			", valid values are from 1 to 1000 both inclusive.")
	}
	s.Redrive = Redrive{Target: arnName(policy.DeadLetterTargetArn), MaxReceives: count}
	return nil
}

// checkTarget makes the checks of sqs.md 3.3 of the target: it exists, has the same type, and its
// RedriveAllowPolicy permits the source.
func (b *Broker) checkTarget(s Settings, source string, given map[string]string) *Error {
	if given["RedrivePolicy"] == "" || s.Redrive.Target == "" {
		return nil
	}
	bad := func(reason string) *Error {
		return &Error{
			"InvalidParameterValue",
			"Value " + given["RedrivePolicy"] + " for parameter RedrivePolicy is invalid. Reason: " + reason,
		}
	}
	target := b.queues[s.Redrive.Target]
	if target == nil {
		return bad("Dead letter target does not exist.")
	}
	if target.FIFO != strings.HasSuffix(source, ".fifo") {
		return bad("Dead-letter queue must be same type of queue as the source..")
	}
	allow := target.Settings.Allow
	if target.Name == source {
		return nil
	}
	if allow.Permission == "denyAll" ||
		allow.Permission == "byQueue" && !slices.Contains(allow.Sources, source) {
		return &Error{Code: "InvalidParameterValue"}
	}
	return nil
}

func assignAllow(s *Settings, value string) *Error {
	if value == "" {
		s.Allow = Allow{}
		return nil
	}
	var policy struct {
		RedrivePermission string
		SourceQueueArns   []string
	}
	if json.Unmarshal([]byte(value), &policy) != nil {
		return &Error{Code: "InvalidAttributeValue"}
	}
	s.Allow = Allow{Permission: policy.RedrivePermission}
	for _, arn := range policy.SourceQueueArns {
		s.Allow.Sources = append(s.Allow.Sources, arnName(arn))
	}
	return nil
}

// contradict reports whether settings exclude each other.
func (s Settings) contradict() bool {
	return s.IDAndContent && !s.ContentBased || s.ForwardDead != "" && s.Redrive.Target == "" && !s.Implicit
}

// CreateQueue implements sqs.md 2.1.
func (b *Broker) CreateQueue(name string, given map[string]string) *Error {
	wanted := defaults()
	if p := given["CompatibilityProfile"]; p != "" {
		wanted.preset(p)
	}
	for _, attribute := range attributesOrder(given) {
		if err := b.assign(&wanted, attribute, given[attribute]); err != nil {
			return err
		}
	}
	if wanted.contradict() {
		return &Error{Code: "InvalidAttributeValue"}
	}
	if q := b.queues[name]; q != nil {
		return q.confirm(given, wanted, b)
	}
	if err := b.checkTarget(wanted, name, given); err != nil {
		return err
	}
	if err := b.checkForward(name, wanted, given); err != nil {
		return err
	}
	if b.cooldowns() {
		if at, was := b.deletedAt[name]; was && b.now-at < coolOffMilliseconds {
			return &Error{
				"QueueDeletedRecently",
				"You must wait 60 seconds after deleting a queue before you can create another with the same name.",
			}
		}
	}
	b.makeImplicit(b.addQueue(name, strings.HasSuffix(name, ".fifo"), wanted))
	return nil
}

// confirm compares every requested attribute with the current one, and reports the first that
// differs. Other attributes are not compared.
func (q *Queue) confirm(given map[string]string, wanted Settings, b *Broker) *Error {
	for _, name := range attributesOrder(given) {
		if q.Settings.text(name, b) != wanted.text(name, b) {
			return &Error{
				"QueueNameExists",
				"A queue already exists with the same name and a different value for attribute " + name,
			}
		}
	}
	return nil
}

// text returns the value of an attribute in a comparable form.
func (s Settings) text(name string, b *Broker) string {
	if n, ok := b.numbers()[name]; ok {
		return strconv.FormatInt(*n.at(&s), 10)
	}
	if at, ok := switches[name]; ok {
		return strconv.FormatBool(*at(&s))
	}
	if c, ok := choices[name]; ok {
		return c.get(&s)
	}
	switch name {
	case "ForwardTo":
		return s.ForwardTo
	case "ForwardDeadLetteredMessagesTo":
		return s.ForwardDead
	}
	if name == "RedrivePolicy" {
		return s.Redrive.Target + " " + strconv.FormatInt(s.Redrive.MaxReceives, 10)
	}
	return ""
}

// SetAttributes implements sqs.md 2.6: it sets all attributes or none.
func (b *Broker) SetAttributes(name string, given map[string]string) *Error {
	q, err := b.find(name)
	if err != nil {
		return err
	}
	wanted := q.Settings
	for _, attribute := range attributesOrder(given) {
		before := wanted.text(attribute, b)
		if err := b.assign(&wanted, attribute, given[attribute]); err != nil {
			return err
		}
		if slices.Contains(fixed, attribute) && wanted.text(attribute, b) != before {
			return &Error{
				"InvalidAttributeValue",
				"Invalid value for the parameter " + attribute + ". Reason: the attribute cannot be changed after creation.",
			}
		}
	}
	if wanted.contradict() {
		return &Error{Code: "InvalidAttributeValue"}
	}
	if err := b.checkTarget(wanted, name, given); err != nil {
		return err
	}
	if err := b.checkForward(name, wanted, given); err != nil {
		return err
	}
	if wanted.Window != q.Settings.Window {
		b.changeWindow(&q.history, wanted.Window)
	}
	q.Settings, q.changedAt = wanted, b.now
	b.makeImplicit(q)
	return nil
}
