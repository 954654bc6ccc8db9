package console

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
)

// deadRow is a dead-letter queue with the queues that use it.
type deadRow struct {
	queueRow
	Sources []string
	Task    *seriatimpb.MoveTask // newest; nil: none
}

// deadLetterQueues lists dead-letter queues.
func (p *page) deadLetterQueues() {
	byKey := p.session.credentials.key.AccessKeyID != ""
	if byKey {
		if _, err := p.queuesAPI("").ListQueues(p.r.Context(), &seriatimpb.ListQueuesRequest{PageSize: 1}); err != nil {
			p.fail(err)
			return
		}
	}
	t := p.console.table(p.r.Context())
	sources := map[string][]string{}
	for _, row := range t.Rows {
		if row.DeadLetterQueue != "" && (!byKey || access.OwnerOf(row.Name) == p.owner() && p.mayCount(row.Name)) {
			sources[row.DeadLetterQueue] = append(sources[row.DeadLetterQueue], row.Name)
		}
	}
	var rows []deadRow
	for _, row := range t.Rows {
		if from := sources[row.Name]; len(from) > 0 && (!byKey || access.OwnerOf(row.Name) == p.owner() && p.mayCount(row.Name)) {
			rows = append(rows, deadRow{queueRow: row, Sources: from})
		}
	}
	slices.SortFunc(rows, func(a, b deadRow) int {
		return cmp.Or(cmp.Compare(b.Messages(), a.Messages()), cmp.Compare(a.Name, b.Name))
	})
	rows = rows[:min(len(rows), topicsMax)]
	for i := range rows[:min(len(rows), pageRows)] {
		rows[i].Task = p.tasks(rows[i].Name, 1).first()
	}
	p.render("dlqs", "Dead letters", struct {
		Now  int64
		Rows []deadRow
	}{t.Now, rows})
}

// moveTasks is the newest tasks of a queue.
type moveTasks []*seriatimpb.MoveTask

func (t moveTasks) first() *seriatimpb.MoveTask {
	if len(t) == 0 {
		return nil
	}
	return t[0]
}

// tasks lists tasks, none if the caller may not see them.
func (p *page) tasks(name string, most int32) moveTasks {
	out, err := p.queuesAPI(name).ListMoveTasks(p.r.Context(), &seriatimpb.ListMoveTasksRequest{Source: p.called(name), MaxResults: most})
	if err != nil {
		return nil
	}
	return out.GetTasks()
}

// reason groups dead letters.
type reason struct {
	Text  string
	Count int
	First messageRow
	Find  string // URL of the messages with it; empty: no filter finds them
}

// deadLettersPage is the workbench of one queue: what is dead here, where it came from, and tasks.
type deadLettersPage struct {
	queueHead
	Sources []queueRow // queues that send their dead letters here
	Tasks   moveTasks
	Rows    []messageRow
	Reasons []reason
	By      string
	Read    int
	Hidden  bool
	Running bool
}

// groupings are the ways to group dead letters: a title, and the filter that finds the same messages
// if there is one.
var groupings = map[string]func(messageRow) (string, findForm){
	"reason": func(m messageRow) (string, findForm) {
		for _, name := range []string{"DeadLetterReason", "ErrorType", "error", "reason"} {
			for _, a := range m.Attributes {
				if strings.EqualFold(a.Name, name) {
					return a.Value, findForm{Attribute: a.Name, Value: a.Value}
				}
			}
		}
		return fmt.Sprintf("received %d times", m.Receives), findForm{}
	},
	"source": func(m messageRow) (string, findForm) { return cmp.Or(m.Source, "sent here directly"), findForm{} },
	"group":  func(m messageRow) (string, findForm) { return cmp.Or(m.Group, "no group"), findForm{Group: m.Group} },
}

// Groupings lists the ways to group dead letters.
func (deadLettersPage) Groupings() []string { return []string{"reason", "source", "group"} }

// TaskNames are the states of a task, by their number.
func (deadLettersPage) TaskNames() []string {
	return []string{"unknown", "running", "completed", "cancelled", "failed"}
}

// deadLettersRead bounds the messages that are grouped.
const deadLettersRead = 100

func (p *page) queueDeadLetters() {
	h, ok := p.queue("dlq")
	if !ok {
		return
	}
	data := deadLettersPage{queueHead: h, By: p.r.URL.Query().Get("by")}
	if groupings[data.By] == nil {
		data.By = "reason"
	}
	p.console.Node.ReadLocal(func(v queue.View) {
		names, refused := v.DeadLetterSources(h.Name, "", topicsMax)
		if refused != nil {
			return
		}
		for _, name := range names {
			if row, ok := rowOf(v, name); ok {
				data.Sources = append(data.Sources, row)
			}
		}
	})
	data.Sources = slices.DeleteFunc(data.Sources, func(row queueRow) bool { return !p.mayCount(row.Name) })
	if h.Row.IsDeadLetter {
		const shown = 10
		data.Tasks = p.tasks(h.Name, shown)
		for _, t := range data.Tasks {
			data.Running = data.Running || t.GetStatus() == seriatimpb.MoveTaskStatus_MOVE_TASK_STATUS_RUNNING
		}
		data.group(p)
	}
	p.render("queue-dlq", h.Name, data)
}

// group reads the first messages and groups them.
func (d *deadLettersPage) group(p *page) {
	out, err := p.messagesAPI(d.Name).Peek(p.r.Context(), &seriatimpb.PeekRequest{Queue: p.called(d.Name), MaxMessages: deadLettersRead})
	if d.Hidden = err != nil; d.Hidden {
		return
	}
	at := map[string]int{}
	for _, m := range out.GetMessages() {
		row := messageOf(d.Name, m)
		d.Read++
		text, find := groupings[d.By](row)
		i, known := at[text]
		if !known {
			i = len(d.Reasons)
			at[text] = i
			d.Reasons = append(d.Reasons, reason{Text: text, First: row, Find: find.URL(d.Name)})
		}
		d.Reasons[i].Count++
		d.Rows = append(d.Rows, row)
	}
	slices.SortStableFunc(d.Reasons, func(a, b reason) int { return cmp.Compare(b.Count, a.Count) })
}

// setDeadLetterQueue sets or removes the dead-letter queue of a queue.
func (p *page) setDeadLetterQueue() {
	name, target := p.stateName(p.r.PathValue("name")), strings.TrimSpace(p.r.PostFormValue("target"))
	policy, text := "", "The queue has no dead-letter queue any more."
	if target != "" {
		policy, text = p.redrivePolicy(target, p.r.PostFormValue("receives")), "Dead letters go to "+target+"."
	}
	_, err := p.queuesAPI(name).SetQueueAttributes(p.r.Context(), &seriatimpb.SetQueueAttributesRequest{
		Queue: p.called(name), Attributes: map[string]string{"RedrivePolicy": policy},
	})
	p.console.tables.forget()
	p.done(err, queueURL(name)+"/dlq", text, command("queue", "update", name, "-a", "RedrivePolicy="+policy))
}

func (p *page) startRedrive() {
	name := p.stateName(p.r.PathValue("name"))
	to, rate := strings.TrimSpace(p.r.PostFormValue("to")), strings.TrimSpace(p.r.PostFormValue("rate"))
	back := queueURL(name) + "/dlq"
	if !p.confirmed(name, back) {
		return
	}
	in := &seriatimpb.StartMoveTaskRequest{Source: p.called(name), Destination: to}
	words := []string{"dlq", "redrive", name}
	if to != "" {
		words = append(words, "--to", to)
	}
	if rate != "" {
		n, err := strconv.ParseInt(rate, 10, 32)
		if err != nil {
			p.done(fmt.Errorf("the rate must be a number between 1 and 500, not %q", rate), back, "", "")
			return
		}
		most := int32(n)
		in.MessagesPerSecondMax = &most
		words = append(words, "--rate", rate)
	}
	_, err := p.queuesAPI(name).StartMoveTask(p.r.Context(), in)
	p.done(err, back, "The redrive has started. This page shows its progress.", command(words...))
}

func (p *page) cancelRedrive() {
	name := p.stateName(p.r.PathValue("name"))
	out, err := p.queuesAPI(name).CancelMoveTask(p.r.Context(), &seriatimpb.CancelMoveTaskRequest{
		Source: p.called(name), TaskId: p.r.PostFormValue("task"),
	})
	p.done(err, queueURL(name)+"/dlq", fmt.Sprintf("Cancelled after %d messages. Moved messages stay moved.", out.GetMoved()),
		command("dlq", "cancel", name))
}
