package migrate

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/scanner"

	"github.com/seriatimq/seriatim/cmd/seriatim/client/definitions"
	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
)

// block is an object of a configuration file: its values are texts or further blocks.
type block map[string]any

// configFileMax bounds a configuration file, in bytes.
const configFileMax = 1 << 20

// ReadElasticMQ reads the queues in a configuration file of ElasticMQ. It understands objects, texts,
// numbers, durations and comments, but no includes, substitutions or lists outside of queues.
func ReadElasticMQ(from io.Reader) (*definitions.Document, []string, error) {
	text, err := io.ReadAll(io.LimitReader(from, configFileMax+1))
	if err != nil {
		return nil, nil, err
	}
	if len(text) > configFileMax {
		return nil, nil, exit.New(exit.Usage, errors.New("the configuration is larger than 1 MiB"), "is it the right file?")
	}
	p := newParser(string(text))
	root, err := p.object(false)
	if err != nil {
		return nil, nil, exit.New(exit.Usage, err, "")
	}
	queues, ok := root["queues"].(block)
	if !ok {
		return nil, nil, exit.New(exit.Usage, errors.New("the configuration has no queues { ... }"),
			"is it the configuration of ElasticMQ?")
	}
	d := &definitions.Document{Version: 1}
	var notes []string
	for _, name := range slices.Sorted(maps.Keys(queues)) {
		settings, ok := queues[name].(block)
		if !ok {
			return nil, nil, exit.New(exit.Usage, fmt.Errorf("queues: %s is not an object", name), "")
		}
		q, left, err := elasticQueue(name, settings, queues)
		if err != nil {
			return nil, nil, exit.New(exit.Usage, fmt.Errorf("queues: %s: %w", name, err), "")
		}
		d.Queues, notes = append(d.Queues, q), append(notes, left...)
	}
	d.Sort()
	return d, notes, nil
}

// elasticQueue returns the definition of a queue, and notes about settings without a counterpart.
func elasticQueue(name string, settings, all block) (definitions.Queue, []string, error) {
	q := definitions.Queue{Name: elasticName(name, all), Attributes: map[string]string{}}
	var notes []string
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		value, isText := settings[key].(string)
		object, _ := settings[key].(block)
		var err error
		switch key {
		case "defaultVisibilityTimeout":
			q.Attributes["VisibilityTimeout"], err = seconds(value)
		case "delay":
			q.Attributes["DelaySeconds"], err = seconds(value)
		case "receiveMessageWait":
			q.Attributes["ReceiveMessageWaitTimeSeconds"], err = seconds(value)
		case "contentBasedDeduplication":
			if strings.HasSuffix(q.Name, ".fifo") {
				q.Attributes["ContentBasedDeduplication"] = value
			}
		case "fifo": // the name tells
		case "deadLettersQueue":
			target, _ := object["name"].(string)
			count, _ := object["maxReceiveCount"].(string)
			if _, bad := strconv.Atoi(count); bad != nil || target == "" {
				return q, nil, errors.New("deadLettersQueue needs a name and a maxReceiveCount")
			}
			q.Attributes["RedrivePolicy"] = `{"deadLetterTargetArn":"` + definitions.Here("sqs") + elasticName(target, all) +
				`","maxReceiveCount":` + count + `}`
		case "tags":
			q.Tags = map[string]string{}
			for tag, text := range object {
				q.Tags[tag], _ = text.(string)
			}
		default:
			notes = append(notes, "the queue "+q.Name+" has the setting "+key+", which is left out")
			isText = true
		}
		if err != nil || !isText && object == nil {
			return q, nil, fmt.Errorf("%s has a value that this command does not understand", key)
		}
	}
	return q, notes, nil
}

// elasticName returns the name of a queue. ElasticMQ adds .fifo to the names of FIFO queues.
func elasticName(name string, all block) string {
	settings, _ := all[name].(block)
	if settings["fifo"] == "true" && !strings.HasSuffix(name, ".fifo") {
		return name + ".fifo"
	}
	return name
}

// durations holds the units of durations, in milliseconds.
var durations = map[string]int64{
	"": 1, "ms": 1, "milli": 1, "millis": 1, "millisecond": 1, "milliseconds": 1, "s": 1000, "second": 1000, "seconds": 1000,
	"m": 60_000, "minute": 60_000, "minutes": 60_000, "h": 3_600_000, "hour": 3_600_000, "hours": 3_600_000,
}

// seconds reads a duration such as 10 seconds, 500 millis or 5s, and returns whole seconds.
func seconds(text string) (string, error) {
	digits := text[:len(text)-len(strings.TrimLeft(text, "0123456789"))]
	unit, known := durations[strings.TrimSpace(text[len(digits):])]
	n, err := strconv.ParseInt(digits, 10, 32)
	if err == nil && !known {
		err = fmt.Errorf("unknown duration %q", text)
	}
	return strconv.FormatInt(n*unit/1000, 10), err
}

// parser reads the part of HOCON that ElasticMQ's configurations use.
type parser struct {
	scan scanner.Scanner
	next rune
	err  error
}

func newParser(text string) *parser {
	p := &parser{}
	p.scan.Init(strings.NewReader(hashComments(text)))
	p.scan.Mode = scanner.ScanStrings | scanner.ScanComments | scanner.SkipComments
	p.scan.Whitespace = 1<<' ' | 1<<'\t' | 1<<'\r'
	p.scan.Error = func(s *scanner.Scanner, message string) {
		if p.err == nil {
			p.err = fmt.Errorf("line %d: %s", s.Pos().Line, message)
		}
	}
	p.step()
	return p
}

// hashComments replaces comments that begin with # by empty text.
func hashComments(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		quoted := false
		for i, r := range line {
			if quoted = quoted != (r == '"'); r == '#' && !quoted {
				line = line[:i] + "\n"
				break
			}
		}
		out.WriteString(line)
	}
	return out.String()
}

func (p *parser) step() { p.next = p.scan.Scan() }

func (p *parser) fail(what string) error {
	if p.err != nil {
		return p.err
	}
	return fmt.Errorf("line %d: %s", p.scan.Pos().Line, what)
}

// words reads texts up to one of the given runes, and joins them.
func (p *parser) words(until string) string {
	var b strings.Builder
	space := 0
	for p.next != scanner.EOF && !strings.ContainsRune(until, p.next) {
		if b.Len() > 0 && p.scan.Position.Offset > space {
			b.WriteByte(' ')
		}
		token := p.scan.TokenText()
		if p.next == scanner.String {
			if text, err := strconv.Unquote(token); err == nil {
				token = text
			}
		}
		b.WriteString(token)
		space = p.scan.Pos().Offset
		p.step()
	}
	return b.String()
}

// object reads fields up to a closing brace, or to the end of the file.
func (p *parser) object(inner bool) (block, error) {
	fields := block{}
	for p.err == nil {
		switch p.next {
		case '\n', ',':
			p.step()
			continue
		case '}':
			if !inner {
				return nil, p.fail("unexpected }")
			}
			p.step()
			return fields, nil
		case scanner.EOF:
			if inner {
				return nil, p.fail("a closing } is missing")
			}
			return fields, nil
		}
		key := p.words("\n,{}=:")
		if p.next == '=' || p.next == ':' {
			p.step()
		}
		if p.next != '{' {
			fields[key] = p.words("\n,}")
			continue
		}
		p.step()
		value, err := p.object(true)
		if err != nil {
			return nil, err
		}
		fields[key] = value
	}
	return nil, p.err
}
