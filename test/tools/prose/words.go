package main

import (
	"regexp"
	"strings"
	"unicode"
)

// A word is a word or phrase that only this project uses, with the word of the field.
type word struct {
	match   *regexp.Regexp
	instead string
	// allowed are uses in the sense of everyday English or of a standard.
	allowed *regexp.Regexp
	// within is the folder that the word is banned in, empty for all.
	within string
	// except is a folder in which the word is a standard term.
	except string
}

func ban(pattern, instead string) word {
	return word{match: regexp.MustCompile(`(?i)\b(` + pattern + `)\b`), instead: instead}
}

func (w word) but(allowed string) word {
	w.allowed = regexp.MustCompile(`(?i)\b(` + allowed + `)\b`)
	return w
}

func (w word) in(folder string) word {
	w.within = folder
	return w
}

func (w word) outside(folder string) word {
	w.except = folder
	return w
}

// settlementFolder has the packages in which a message is settled: Service Bus and AMQP call the end
// of a delivery its settlement.
const settlementFolder = "transport/amqp/"

// banned are the private words. Words with an everyday sense that no pattern tells from the
// private one (rest, give, take, hand, place, open, pass, turn, reach) are for readers to find.
var banned = []word{
	ban(`tenures?`, "leader term"),
	ban(`landlords?`, "dependencies"),
	ban(`interludes?`, "exclusive section"),
	ban(`rid(e|es|ing)|rode|ridden|aboard|boarded|on board`, "piggybacked receive"),
	ban(`rounds? of questions`, "ReadIndex batch"),
	ban(`movers?`, "move-task runner"),
	ban(`suspicions?`, "failure detector").but(`suspicion probes?`),
	ban(`doubts?`, "suspicion probe").but(`(in|no|without) doubts?`),
	ban(`vacanc(y|ies)`, "leaderless election"),
	ban(`stranded`, "partial partition"),
	ban(`standing`, "removal check").but(`long-standing|standing by`),
	ban(`formations?`, "bootstrap"),
	ban(`promis(e|es|ed|ing)`, "guarantee, or pledge"),
	ban(`founders?`, "initial members"),
	ban(`committers?|batchers?`, "group committer").but(`group committers?`),
	ban(`tellers?`, "commit notifier"),
	ban(`settl(e|es|ed|ing)`, "complete, truncate, drain").outside(settlementFolder),
	ban(`(a|the|this|its|disk|each) guards?`, "name the thing that it protects"),
	ban(`admit(s|ted|ting)?`, "accept, add, enqueue"),
	ban(`admissions?`, "acceptance").but(`admission (controller|webhook)s?`),
	ban(`witness(es)?`, "log-based checker").in("test/"),
	ban(`hurr(y|ies|ied)|kick(s|ed)?|pok(e|es|ed)|reconsider(s|ed)?`, "notify, retry, probe"),
	ban(`unplac(e|es|ed)`, "dequeue"),
	ban(`patience`, "idle timeout"),
	ban(`surroundings?`, "environment"),
	ban(`told`, "completed, notified"),
	ban(`judg(e|es|ed|ing|ments?)`, "decide, check").outside("test/"),
	ban(`land(s|ed|ing)?`, "commit"),
	ban(`flying`, "in flight"),
	ban(`gather(s|ed|ing)?`, "batch, batching delay"),
	ban(`sought|seeks?`, "prefetch, search"),
	ban(`aside`, "scheduled and deferred messages").but(`aside from`),
	ban(`one behind the other`, "one after another"),
	ban(`holdings|workspaces?|leisure|flaws?|flawed`, "usage, scratch buffers, idle slowdown, error"),
	ban(`greet(s|ed|ing|ings)?`, "handshake"),
	ban(`giving`, "space reclamation").but(`giving up`),
	ban(`courses?`, "schedule").but(`of course|in the course of`),
	ban(`strangers?`, "unauthenticated caller"),
	ban(`str(ike|ikes|iking|uck)`, "inject"),
	ban(`furnish(es|ed|ing)?`, "prepare"),
	ban(`bit(e|es|ing|ten)`, "detect"),
	ban(`stag(e|es|ed)`, "step").in("test/"),
	ban(`the (release|receipt|wait|timeout) of (a|an|the|its|each)`, "a verb, or 'for'"),
}

// privateWords returns the banned words of a sentence.
func privateWords(s, file string) []string {
	var found []string
	for _, w := range banned {
		if !strings.HasPrefix(file, w.within) || w.except != "" && strings.HasPrefix(file, w.except) {
			continue
		}
		rest := s
		if w.allowed != nil {
			rest = w.allowed.ReplaceAllString(s, "-")
		}
		for _, at := range w.match.FindAllStringIndex(rest, -1) {
			if identifier(rest, at[0], at[1]) {
				continue
			}
			found = append(found, strings.ToLower(rest[at[0]:at[1]])+" (say: "+w.instead+")")
			break
		}
	}
	return found
}

// identifier returns whether the word from start to end is part of a name in code or of a
// path: reader.told, told(), --seek, docs/stage.
func identifier(s string, start, end int) bool {
	if start > 0 && strings.ContainsRune("._/-#@", rune(s[start-1])) {
		return true
	}
	if end == len(s) {
		return false
	}
	switch s[end] {
	case '(', '/', '_', '=':
		return true
	case '.', '-':
		return end+1 < len(s) && (unicode.IsLetter(rune(s[end+1])) || s[end+1] == '_')
	}
	return false
}

// bannedNames are parts of names in code.
var bannedNames = map[string]string{
	"tenure": "term", "landlord": "dependencies", "interlude": "exclusive", "mover": "moveTaskRunner", "vacancy": "leaderless",
	"founders": "initialMembers", "formation": "bootstrap", "batcher": "groupCommitter", "teller": "commitNotifier",
	"unplace": "dequeue", "patience": "idleTimeout", "surroundings": "environment", "told": "completed", "landed": "committed",
	"flying": "inFlight", "gathering": "batchingDelay", "sought": "prefetched", "aside": "scheduled, deferred",
	"holdings": "usage", "workspace": "scratch", "leisure": "idleSlowdown", "flaw": "err", "giving": "reclaim", "greet": "handshake",
	"stranger": "unauthenticated", "strangers": "unauthenticated", "strike": "inject", "furnish": "prepare",
	"bite":  "detect",
	"hurry": "notify", "kick": "notify", "poke": "notify", "reconsider": "retry", "admit": "accept, add", "settle": "complete",
}

// bannedPhrases are runs of such parts, joined.
var bannedPhrases = map[string]string{"goOn": "resume", "whyResumed": "resumeReason", "byHand": "manual"}

// privateName returns a banned part of a name, and what to say instead.
func privateName(name string) (part, instead string) {
	parts := split(name)
	for i, p := range parts {
		lower := strings.ToLower(p)
		if instead, ok := bannedNames[lower]; ok {
			return lower, instead
		}
		if i+1 < len(parts) {
			pair := lower + strings.ToUpper(parts[i+1][:1]) + strings.ToLower(parts[i+1][1:])
			if instead, ok := bannedPhrases[pair]; ok {
				return pair, instead
			}
		}
	}
	return "", ""
}

// split returns the words of a name in camel case.
func split(name string) []string {
	var parts []string
	start := 0
	for i, r := range name {
		if i > start && (unicode.IsUpper(r) && !unicode.IsUpper(rune(name[i-1])) || r == '_') {
			parts = append(parts, strings.Trim(name[start:i], "_"))
			start = i
		}
	}
	parts = append(parts, strings.Trim(name[start:], "_"))
	full := parts[:0]
	for _, p := range parts {
		if p != "" {
			full = append(full, p)
		}
	}
	return full
}
