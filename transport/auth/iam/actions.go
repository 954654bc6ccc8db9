package iam

import (
	"slices"
	"strings"
)

// Actions lists the permissions in policies, sorted. Batch actions need those of the single actions;
// AddPermission grants sns:Receive, as on AWS.
var Actions = []string{
	"sns:AddPermission", "sns:ConfirmSubscription", "sns:CreateTopic", "sns:DeleteTopic", "sns:GetDataProtectionPolicy",
	"sns:GetSubscriptionAttributes", "sns:GetTopicAttributes", "sns:ListSubscriptions", "sns:ListSubscriptionsByTopic",
	"sns:ListTagsForResource", "sns:ListTopics", "sns:Publish", "sns:PutDataProtectionPolicy", "sns:Receive",
	"sns:RemovePermission", "sns:SetSubscriptionAttributes", "sns:SetTopicAttributes", "sns:Subscribe", "sns:TagResource",
	"sns:Unsubscribe", "sns:UntagResource",
	"sqs:AddPermission", "sqs:CancelMessageMoveTask", "sqs:ChangeMessageVisibility", "sqs:CreateQueue", "sqs:DeleteMessage",
	"sqs:DeleteQueue", "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ListDeadLetterSourceQueues",
	"sqs:ListMessageMoveTasks", "sqs:ListQueueTags", "sqs:ListQueues", "sqs:PurgeQueue", "sqs:ReceiveMessage",
	"sqs:RemovePermission", "sqs:SendMessage", "sqs:SetQueueAttributes", "sqs:StartMessageMoveTask", "sqs:TagQueue",
	"sqs:UntagQueue",
}

// ofAccount lists the actions on no single queue or topic. Their resource is *, and only policies of users
// count.
var ofAccount = []string{"sns:ListSubscriptions", "sns:ListTopics", "sqs:ListQueues"}

// actionsOf returns the permissions in a kind of policy.
func actionsOf(kind Kind) []string {
	switch kind {
	case QueuePolicy:
		return slices.DeleteFunc(slices.Clone(Actions), func(a string) bool { return !strings.HasPrefix(a, "sqs:") })
	case TopicPolicy:
		return slices.DeleteFunc(slices.Clone(Actions), func(a string) bool { return !strings.HasPrefix(a, "sns:") })
	}
	return Actions
}

// checkAction refuses a pattern without a matching action.
func checkAction(kind Kind, path, text string) error {
	known, pattern := actionsOf(kind), strings.ToLower(text)
	if slices.ContainsFunc(known, func(a string) bool { return matchWildcards(pattern, strings.ToLower(a)) }) {
		return nil
	}
	if single, batch := strings.CutSuffix(pattern, "batch"); batch {
		for _, a := range known {
			if strings.EqualFold(a, single) {
				return problem(path, "a batch needs the permission %s", a)
			}
		}
	}
	return problem(path, "there is no such action in this policy%s", suggest(text, known))
}

// anyOf returns the patterns of all ARNs in a kind of policy.
func anyOf(kind Kind) []string {
	const queues, topics = "arn:aws:sqs:*:????????????:*", "arn:aws:sns:*:????????????:*"
	switch kind {
	case QueuePolicy:
		return []string{queues}
	case TopicPolicy:
		return []string{topics}
	}
	return []string{queues, topics}
}

// checkResource refuses a pattern that matches no queue and no topic.
func checkResource(kind Kind, path, text string) error {
	plain, err := withoutVariables(path, text)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(anyOf(kind), func(any string) bool { return overlap(plain, any) }) {
		return problem(path, "it is the ARN of %s", [...]string{
			UserPolicy: "no queue and no topic", QueuePolicy: "no queue", TopicPolicy: "no topic",
		}[kind])
	}
	return nil
}

// checkApplies refuses a statement whose actions and resources match no request. own is the ARN of the
// queue or topic of the policy, empty if unknown.
func (s *statement) checkApplies(kind Kind, path, own string) error {
	acts := false
	for _, action := range actionsOf(kind) {
		if s.actions.names(strings.ToLower(action)) == s.actions.negated {
			continue
		}
		acts = true
		if slices.Contains(ofAccount, action) {
			if kind == UserPolicy && s.resources.names("*") != s.resources.negated {
				return nil
			}
			continue
		}
		if own != "" && s.resources.reach(own) {
			return nil
		}
		for _, any := range anyOf(kind) {
			if own == "" && strings.Contains(any, action[:len("sqs:")]) && s.resources.reach(any) {
				return nil
			}
		}
	}
	switch {
	case !acts:
		return problem(path, "it never applies: it is about no action")
	case own != "":
		return problem(path, "it never applies: it is not about %s", own)
	}
	return problem(path, "it never applies: none of its actions is about such a resource")
}

// names reports whether a pattern matches a text for some values of its variables.
func (p patterns) names(text string) bool {
	return slices.ContainsFunc(p.texts, func(pattern string) bool {
		pattern, _ = withoutVariables("", pattern)
		return matchWildcards(pattern, text)
	})
}

// reach reports whether the patterns and another pattern may match the same text.
func (p patterns) reach(other string) bool {
	if p.negated {
		return !slices.ContainsFunc(p.texts, func(pattern string) bool {
			return !strings.Contains(pattern, "${") && matchWildcards(pattern, other) // all of it
		})
	}
	return slices.ContainsFunc(p.texts, func(pattern string) bool {
		pattern, _ = withoutVariables("", pattern)
		return overlap(pattern, other)
	})
}

// overlap reports whether two patterns match a common text.
func overlap(a, b string) bool {
	// row[j] is set if one text can match both the bytes of a so far and the first j bytes of b.
	row := make([]bool, len(b)+1)
	row[0] = true
	for i := range len(a) + 1 {
		next := make([]bool, len(b)+1)
		for j := range len(b) + 1 {
			if !row[j] {
				continue
			}
			starA, starB := i < len(a) && a[i] == '*', j < len(b) && b[j] == '*'
			if j < len(b) && (starA || starB) {
				row[j+1] = true
			}
			if i < len(a) && (starA || starB) {
				next[j] = true
			}
			if i < len(a) && j < len(b) && !starA && !starB && (a[i] == '?' || b[j] == '?' || a[i] == b[j]) {
				next[j+1] = true
			}
		}
		if i == len(a) {
			return row[len(b)]
		}
		row = next
	}
	return false
}
