package policy

import (
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/arn"
	"github.com/seriatimq/seriatim/queue/jsontext"
)

const (
	// MaxReceiveCountMax is the highest maxReceiveCount.
	MaxReceiveCountMax = 1000
	sourceARNsMax      = 10

	deadLetterTargetKey = "deadLetterTargetArn"
)

// Redrive is a RedrivePolicy. Text is the value for GetQueueAttributes, empty if there is no
// policy.
type Redrive struct {
	Text            string
	Target          string // queue name, the last segment of deadLetterTargetArn
	MaxReceiveCount int64
}

// RedriveAllow restricts the queues that may use a queue as dead-letter queue.
type RedriveAllow struct {
	Text    string
	DenyAll bool
	ByQueue []string // queue names, nil unless byQueue
}

// TargetMissing is AWS's reason for a missing target.
const TargetMissing = "Dead letter target does not exist."

// ParseRedrive reads a RedrivePolicy. reason is the error text of AWS. Empty text and {} mean no
// policy. The stored text is compact, keeps the order of members, and has maxReceiveCount as a
// number. AWS also accepts a string.
func ParseRedrive(text string) (p Redrive, reason string) {
	if text == "" {
		return Redrive{}, ""
	}
	o, ok := parseObject(text)
	if !ok {
		return Redrive{}, "Redrive policy is not a valid JSON map."
	}
	if len(o) == 0 {
		return Redrive{}, ""
	}
	raw, ok := o.Get(deadLetterTargetKey)
	if !ok {
		return Redrive{}, "Redrive policy does not contain mandatory attribute: deadLetterTargetArn."
	}
	written, _ := jsontext.StringOf(raw)
	target, ok := arn.Queue(written)
	if !ok {
		return Redrive{}, TargetMissing
	}
	const countKey = "maxReceiveCount"
	raw, ok = o.Get(countKey)
	if !ok {
		return Redrive{}, "Redrive policy does not contain mandatory attribute: maxReceiveCount."
	}
	written = raw
	if s, ok := jsontext.StringOf(raw); ok {
		written = s
	}
	count, err := strconv.ParseUint(written, 10, 32)
	if err != nil || count < 1 || count > MaxReceiveCountMax || len(written) > 18 {
		return Redrive{}, "Invalid value for maxReceiveCount: " + strings.ToValidUTF8(written[:min(len(written), 64)], "") +
			", valid values are from 1 to " + strconv.Itoa(MaxReceiveCountMax) + " both inclusive."
	}
	o.Set(countKey, strconv.FormatUint(count, 10))
	return Redrive{Text: o.String(), Target: target, MaxReceiveCount: int64(count)}, ""
}

// RedriveTargetARN returns the ARN of the target in a valid policy.
func RedriveTargetARN(text string) string {
	o, _ := parseObject(text)
	raw, _ := o.Get(deadLetterTargetKey)
	written, _ := jsontext.StringOf(raw)
	return written
}

// ParseRedriveAllow reads a RedriveAllowPolicy. Empty text and {} mean none.
func ParseRedriveAllow(text string) (RedriveAllow, bool) {
	if text == "" {
		return RedriveAllow{}, true
	}
	o, ok := parseObject(text)
	if !ok {
		return RedriveAllow{}, false
	}
	if len(o) == 0 {
		return RedriveAllow{}, true
	}
	p := RedriveAllow{Text: o.String()}
	raw, _ := o.Get("redrivePermission")
	permission, _ := jsontext.StringOf(raw)
	raw, listed := o.Get("sourceQueueArns")
	switch {
	case permission == "allowAll" && !listed:
		return p, true
	case permission == "denyAll" && !listed:
		p.DenyAll = true
		return p, true
	case permission == "byQueue" && listed:
		p.ByQueue, ok = sources(raw)
		return p, ok
	}
	return RedriveAllow{}, false
}

// sources returns the queue names in a list of ARNs.
func sources(raw string) (names []string, ok bool) {
	elements, ok := jsontext.ParseList(raw)
	if !ok || len(elements) == 0 || len(elements) > sourceARNsMax {
		return nil, false
	}
	for _, e := range elements {
		written, _ := jsontext.StringOf(e)
		name, ok := arn.Queue(written)
		if !ok {
			return nil, false
		}
		names = append(names, name)
	}
	return names, true
}

// Allows reports whether source may use the queue as its dead-letter queue.
func (p RedriveAllow) Allows(source string) bool {
	if p.DenyAll {
		return false
	}
	return p.ByQueue == nil || slices.Contains(p.ByQueue, source)
}

// Equal reports whether two policies permit the same. No policy permits all.
func (p RedriveAllow) Equal(q RedriveAllow) bool {
	if p.DenyAll != q.DenyAll || len(p.ByQueue) != len(q.ByQueue) {
		return false
	}
	return !slices.ContainsFunc(p.ByQueue, func(name string) bool { return !slices.Contains(q.ByQueue, name) }) &&
		!slices.ContainsFunc(q.ByQueue, func(name string) bool { return !slices.Contains(p.ByQueue, name) })
}
