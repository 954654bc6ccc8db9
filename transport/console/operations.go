package console

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

func (p *page) operations(queue string) seriatimpb.OperationsClient {
	return seriatimpb.NewOperationsClient(p.local(queue))
}

// explanation is the state of a thing, explained as the command line does.
type explanation struct {
	State, Why, Tone string
	Details          []string
	Next             string
	Until            int64
	Commands         []suggestion
	Events           []event
	Holder           *seriatimpb.GroupHolder
}

// calmStates are the states of an Explanation that need no attention; heldStates are normal waits.
var (
	calmStates = map[string]bool{
		"ready": true, "empty": true, "delivering": true, "visible": true, "accepted": true, "delivers": true, "idle": true, "ok": true,
	}
	heldStates = map[string]bool{"in-flight": true, "in_flight": true, "session": true, "locked": true, "held": true}
)

// explain asks why something is as it is. Without an answer, the page shows less.
func (p *page) explain(queue string, in *seriatimpb.ExplainRequest) (out explanation) {
	answer, err := p.operations(queue).Explain(p.r.Context(), in)
	if err != nil {
		p.console.Logger.Debug("the console got no explanation", "error", err)
		return out
	}
	out = explanation{
		State: answer.GetState(), Why: answer.GetSummary(), Details: answer.GetDetails(), Next: answer.GetNext(),
		Until: answer.GetUntilMs(), Holder: answer.GetHolder(),
	}
	switch {
	case calmStates[answer.GetState()]:
		out.Tone = "ok"
	case heldStates[answer.GetState()]:
		out.Tone = "flight"
	default:
		out.Tone = "warning"
	}
	for _, c := range answer.GetCommands() {
		out.Commands = append(out.Commands, suggestion{Line: c.GetLine(), Effect: c.GetEffect()})
	}
	now := p.console.Now().UnixMilli()
	for _, e := range answer.GetTimeline() {
		out.Events = append(out.Events, event{At: e.GetAtMs(), Text: e.GetEvent(), Future: e.GetAtMs() > now})
	}
	return out
}

// selectors reads the sequence numbers that a form selects.
func (p *page) selectors() (list []*seriatimpb.MessageSelector, err error) {
	for _, text := range p.r.PostForm["seq"] {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is no sequence number", line(40, text))
		}
		list = append(list, &seriatimpb.MessageSelector{SequenceNumber: n})
	}
	if len(list) == 0 {
		return nil, errors.New("nothing was changed: select a message")
	}
	return list, nil
}

// moveMessages moves the selected messages to a queue, or back to their own.
func (p *page) moveMessages() {
	name, to := p.stateName(p.r.PathValue("name")), p.r.PostFormValue("to")
	back := p.back(queueURL(name) + "/messages")
	selected, err := p.selectors()
	if err != nil {
		p.done(err, back, "", "")
		return
	}
	out, err := p.operations(name).MoveStored(p.r.Context(), &seriatimpb.MoveStoredRequest{
		Queue: p.called(name), Destination: to, Messages: selected, Force: p.r.PostFormValue("force") != "",
	})
	moved, failed := 0, ""
	for _, r := range out.GetResults() {
		if f := r.GetFailure(); f != nil {
			failed = f.GetMessage()
			continue
		}
		moved++
	}
	words := []string{"msg", "move", name}
	for _, s := range selected {
		words = append(words, "--sequence", strconv.FormatUint(s.GetSequenceNumber(), 10))
	}
	if to != "" {
		words = append(words, "--to", to)
	}
	p.finish(err, failed, back, fmt.Sprintf("%d moved.", moved), command(words...))
}

// deleteMessages deletes the selected messages.
func (p *page) deleteMessages() {
	name := p.stateName(p.r.PathValue("name"))
	back := p.back(queueURL(name) + "/messages")
	selected, err := p.selectors()
	if err != nil {
		p.done(err, back, "", "")
		return
	}
	if id := p.r.PostFormValue("id"); !p.confirmed(id, messageURL(name, selected[0].GetSequenceNumber())) {
		return
	}
	out, err := p.operations(name).DeleteStored(p.r.Context(), &seriatimpb.DeleteStoredRequest{
		Queue: p.called(name), Messages: selected, Force: p.r.PostFormValue("force") != "",
	})
	deleted, failed := 0, ""
	for _, r := range out.GetOutcomes() {
		if f := r.GetFailure(); f != nil {
			failed = f.GetMessage()
			continue
		}
		deleted++
	}
	words := []string{"msg", "discard", name}
	for _, s := range selected {
		words = append(words, "--sequence", strconv.FormatUint(s.GetSequenceNumber(), 10))
	}
	p.finish(err, failed, back, fmt.Sprintf("%d deleted.", deleted), command(words...))
}

// finish reports a change of several messages, of which some may have failed.
func (p *page) finish(err error, failed, to, text, cli string) {
	p.console.tables.forget()
	if err == nil && failed != "" {
		err = errors.New(text + " The others stay: " + failed)
	}
	p.done(err, to, text, cli)
}

// pauseQueue pauses or resumes the deliveries of a queue.
func (p *page) pauseQueue() {
	name, paused := p.stateName(p.r.PathValue("name")), p.r.PostFormValue("paused") == "true"
	_, err := p.queuesAPI(name).SetQueueAttributes(p.r.Context(), &seriatimpb.SetQueueAttributesRequest{
		Queue: p.called(name), Attributes: map[string]string{"DeliveryPaused": strconv.FormatBool(paused)},
	})
	text, word := "Deliveries go on.", "resume"
	if paused {
		text, word = "Deliveries are paused: receives return nothing, and sends go on.", "pause"
	}
	p.console.tables.forget()
	p.done(err, queueURL(name), text, command("queue", word, name))
}
