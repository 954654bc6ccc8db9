package queue

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// redriveValue is RedrivePolicy.
func redriveValue() (parseAttribute, printAttribute) {
	parse := func(a *QueueAttributes, value string, _ int64) *Error {
		p, err := parseRedrivePolicy(value)
		if err != nil {
			return err
		}
		a.Redrive = p
		return nil
	}
	return parse, func(a *QueueAttributes) string { return a.Redrive.Text }
}

// redriveAllowValue is RedriveAllowPolicy.
func redriveAllowValue() (parseAttribute, printAttribute) {
	parse := func(a *QueueAttributes, value string, _ int64) *Error {
		p, err := parseRedriveAllowPolicy(value)
		if err != nil {
			return err
		}
		a.RedriveAllow = p
		return nil
	}
	return parse, func(a *QueueAttributes) string { return a.RedriveAllow.Text }
}

// parseRedrivePolicy reads the attribute. Text and {} without members remove
// the policy. The stored text is compact and keeps the order of the keys, and
// maxReceiveCount is a number in it also if it came as a string, which AWS
// accepts.
func parseRedrivePolicy(text string) (RedrivePolicy, *Error) {
	if text == "" {
		return RedrivePolicy{}, nil
	}
	o, ok := parseObject(text)
	if !ok {
		return RedrivePolicy{}, badRedrive(text, "Redrive policy is not a valid JSON map.")
	}
	if len(o) == 0 {
		return RedrivePolicy{}, nil
	}
	target, err := redriveTarget(text, o)
	if err != nil {
		return RedrivePolicy{}, err
	}
	const countKey = "maxReceiveCount"
	raw, ok := o.get(countKey)
	if !ok {
		return RedrivePolicy{}, badRedrive(text, "Redrive policy does not contain mandatory attribute: maxReceiveCount.")
	}
	written := raw
	if s, ok := jsonString(raw); ok {
		written = s
	}
	count, ok := parseNumber(written)
	if !ok || count < 1 || count > MaxReceiveCountMax {
		return RedrivePolicy{}, badRedrive(text, "Invalid value for maxReceiveCount: "+written+
			", valid values are from 1 to "+strconv.Itoa(MaxReceiveCountMax)+" both inclusive.")
	}
	o.set(countKey, strconv.FormatInt(count, 10))
	return RedrivePolicy{Text: o.String(), Target: target, MaxReceiveCount: count}, nil
}

// redriveTarget is the queue that deadLetterTargetArn names.
func redriveTarget(text string, o object) (string, *Error) {
	raw, ok := o.get("deadLetterTargetArn")
	if !ok {
		return "", badRedrive(text, "Redrive policy does not contain mandatory attribute: deadLetterTargetArn.")
	}
	arn, _ := jsonString(raw)
	target, ok := queueOfARN(arn)
	if !ok {
		return "", redriveTargetMissing(text)
	}
	return target, nil
}

// parseRedriveAllowPolicy reads the attribute; empty text and {} remove it.
func parseRedriveAllowPolicy(text string) (RedriveAllowPolicy, *Error) {
	if text == "" {
		return RedriveAllowPolicy{}, nil
	}
	bad := invalidValue(text, nameRedriveAllowPolicy,
		"Amazon SQS can't create the redrive allow policy in an unsupported format.")
	o, ok := parseObject(text)
	if !ok {
		return RedriveAllowPolicy{}, bad
	}
	if len(o) == 0 {
		return RedriveAllowPolicy{}, nil
	}
	p := RedriveAllowPolicy{Text: o.String()}
	raw, _ := o.get("redrivePermission")
	permission, _ := jsonString(raw)
	raw, listed := o.get("sourceQueueArns")
	var arns []string
	if listed && json.Unmarshal([]byte(raw), &arns) != nil {
		return RedriveAllowPolicy{}, bad
	}
	switch {
	case permission == "allowAll" && !listed:
	case permission == "denyAll" && !listed:
		p.DenyAll = true
	case permission == "byQueue" && len(arns) > 0 && len(arns) <= RedriveSourceARNsMax:
		for _, arn := range arns {
			source, ok := queueOfARN(arn)
			if !ok {
				return RedriveAllowPolicy{}, bad
			}
			p.ByQueue = append(p.ByQueue, source)
		}
	default:
		return RedriveAllowPolicy{}, bad
	}
	return p, nil
}

// allows reports whether source may use the queue as its dead-letter queue.
func (p RedriveAllowPolicy) allows(source string) bool {
	if p.DenyAll {
		return false
	}
	return p.ByQueue == nil || slices.Contains(p.ByQueue, source)
}

// equal compares what two policies permit. Without a policy all is allowed.
func (p RedriveAllowPolicy) equal(q RedriveAllowPolicy) bool {
	if p.DenyAll != q.DenyAll || len(p.ByQueue) != len(q.ByQueue) {
		return false
	}
	return !slices.ContainsFunc(p.ByQueue, func(name string) bool { return !slices.Contains(q.ByQueue, name) }) &&
		!slices.ContainsFunc(q.ByQueue, func(name string) bool { return !slices.Contains(p.ByQueue, name) })
}

// queueOfARN is the queue name in arn:<partition>:sqs:<region>:<account>:<name>.
// Region and account are not compared: a cluster has one of each.
func queueOfARN(arn string) (string, bool) {
	parts := strings.Split(arn, ":")
	if len(parts) != 6 || parts[0] != "arn" || parts[2] != "sqs" || parts[5] == "" {
		return "", false
	}
	return parts[5], true
}

func badRedrive(text, reason string) *Error { return invalidValue(text, nameRedrivePolicy, reason) }

// redriveTargetMissing refuses a RedrivePolicy, given as sent, whose target
// does not exist.
func redriveTargetMissing(text string) *Error {
	return badRedrive(text, "Dead letter target does not exist.")
}

// redriveTargetWrongType refuses a target of the other queue type. AWS ends
// the text with two full stops.
func redriveTargetWrongType(text string) *Error {
	return badRedrive(text, "Dead-letter queue must be same type of queue as the source..")
}

// redriveNotAllowed refuses a target whose RedriveAllowPolicy leaves the
// source out. The text of AWS is not known.
func redriveNotAllowed(text string) *Error {
	return badRedrive(text, "The RedriveAllowPolicy of the dead letter target does not allow this source queue.")
}
