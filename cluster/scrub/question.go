package scrub

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/seriatimq/seriatim/cluster/peernet"
	"github.com/seriatimq/seriatim/queue"
)

// question requests a part of a message body from another node.
type question struct {
	Queue    string               `json:"queue"`
	Sequence queue.SequenceNumber `json:"sequence"`
	Digest   uint64               `json:"digest"`
	Bytes    int                  `json:"bytes"`
	From     int                  `json:"from"` // offset in the body
}

// answer contains a part of the body, or reports that the node has no undamaged one.
type answer struct {
	Found   bool   `json:"found"`
	Text    []byte `json:"text"`
	Applied uint64 `json:"applied"` // index of the last entry in its state; 0: not given
}

const (
	// partBytes bounds the part in one answer.
	partBytes = 512 << 10
	// answersAtOnce bounds the concurrent answers.
	answersAtOnce = 4
)

// Serve answers the questions of other members until ctx ends.
func (s *Scrubber) Serve(ctx context.Context, listener net.Listener) {
	peernet.Answering[question, answer]{
		AtOnce: answersAtOnce, Arrival: s.options.Network.Timeout(),
		Answer: func(_ context.Context, from string, q question) (answer, func()) {
			if !slices.Contains(s.options.Others(), from) {
				return answer{}, nil
			}
			return s.answer(q), nil
		},
	}.Serve(ctx, listener)
}

func (s *Scrubber) answer(q question) answer {
	var (
		body  queue.Body
		found bool
	)
	applied := s.options.Read(func(v queue.View) {
		if body, found = bodyOf(v, q.Queue, q.Sequence); found && !body.Stored() {
			found = v.BodyDigest(body.String()) == q.Digest
		}
	})
	if !found || body.Len() != q.Bytes || body.Stored() && body.Digest() != q.Digest || q.From < 0 || q.From >= q.Bytes {
		return answer{Applied: applied}
	}
	text := ""
	if !body.Stored() {
		text = body.String()
	} else if text, found = s.options.Bodies.Sound(body); !found {
		// It is damaged here, too. It is healed here when it is read here: if a question started that, a
		// body lost on all nodes would end all of them at once.
		return answer{Applied: applied}
	}
	text = text[q.From:]
	return answer{Found: true, Text: []byte(text[:min(len(text), partBytes)]), Applied: applied}
}

var errWrong = errors.New("it sent another body")

// refusal is the error for a node that has no such body.
type refusal struct{ applied uint64 }

// Error returns the last entry that the node had applied.
func (r *refusal) Error() string { return fmt.Sprintf("it has no such body at entry %d", r.applied) }

// ask fetches a body from one node.
func (s *Scrubber) ask(ctx context.Context, node string, wanted located) (string, error) {
	var text []byte
	for len(text) < wanted.body.Len() {
		limited, cancel := context.WithTimeout(ctx, askTimeout)
		part, err := peernet.Ask[answer](limited, s.options.Network, node, peernet.KindBodies, s.options.Group, question{
			Queue: wanted.queue, Sequence: wanted.sequence, Digest: wanted.body.Digest(), Bytes: wanted.body.Len(), From: len(text),
		})
		cancel()
		switch {
		case err != nil:
			return "", fmt.Errorf("asking node %s: %w", node, err)
		case !part.Found:
			return "", fmt.Errorf("asking node %s: %w", node, &refusal{part.Applied})
		case len(part.Text) == 0 || len(part.Text) > wanted.body.Len()-len(text):
			return "", fmt.Errorf("asking node %s: %w", node, errWrong)
		}
		text = append(text, part.Text...)
	}
	same := false
	s.options.Read(func(v queue.View) { same = v.BodyDigest(string(text)) == wanted.body.Digest() })
	if !same {
		return "", fmt.Errorf("asking node %s: %w", node, errWrong)
	}
	return string(text), nil
}
