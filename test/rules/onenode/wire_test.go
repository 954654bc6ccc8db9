package onenode

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/identifier"
	"github.com/seriatimq/seriatim/queue/message"
	"github.com/seriatimq/seriatim/test/oracle"
)

// callTimeout is generous, as there are no faults.
const callTimeout = 30 * time.Second

// account is the account in ARNs, and the sender of unsigned requests.
const account = "000000000000"

// answer is the domain's answer as a client sees it, with its log time, 0 if the answer did not
// read the state.
type answer struct {
	result  queue.Result
	refusal *queue.Error
	at      int64
}

// body has the fields of all answers.
type body struct {
	Type           string `json:"__type"`
	Text           string `json:"message"`
	MessageID      string `json:"MessageId"`
	SequenceNumber string
	Messages       []struct {
		MessageID     string `json:"MessageId"`
		ReceiptHandle string
		Body          string
		Attributes    map[string]string
	}
	Successful []struct {
		ID             string `json:"Id"`
		MessageID      string `json:"MessageId"`
		SequenceNumber string
	}
	Failed []struct {
		ID      string `json:"Id"`
		Code    string
		Message string
	}
}

// call sends the request for a command, and converts the answer back to the domain's.
func call(ctx context.Context, node string, cmd queue.Command) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	action, in := request(node, cmd)
	payload, err := json.Marshal(in)
	if err != nil {
		return answer{}, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+node+"/", bytes.NewReader(payload))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", "AmazonSQS."+action)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	var out body
	if len(text) > 0 {
		if err := json.Unmarshal(text, &out); err != nil {
			return answer{}, fmt.Errorf("%s: %w: %.200s", action, err, text)
		}
	}
	var a answer
	if at := response.Header.Get("X-Seriatim-Log-Time"); at != "" {
		if a.at, err = strconv.ParseInt(at, 10, 64); err != nil {
			return answer{}, err
		}
	}
	if response.StatusCode != http.StatusOK {
		a.refusal, err = refusal(out.Type[strings.LastIndex(out.Type, "#")+1:], out.Text)
		return a, err
	}
	a.result, err = result(cmd, &out)
	return a, err
}

// refusal converts an error of the API to the domain's.
func refusal(code, text string) (*queue.Error, error) {
	c, known := oracle.CodeOf(code)
	if !known {
		return nil, fmt.Errorf("the node answered %s: %s", code, text)
	}
	return &queue.Error{Code: c, Message: text}, nil
}

// request returns the action and input for a command.
func request(node string, cmd queue.Command) (string, map[string]any) {
	in := map[string]any{"QueueUrl": "http://" + node + "/" + account + "/" + cmd.QueueName()}
	switch c := cmd.(type) {
	case *queue.CreateQueue:
		return "CreateQueue", map[string]any{"QueueName": c.Queue, "Attributes": values(c.Attributes)}
	case *queue.SetQueueAttributes:
		in["Attributes"] = values(c.Attributes)
		return "SetQueueAttributes", in
	case *queue.PurgeQueue:
		return "PurgeQueue", in
	case *queue.SendMessages:
		var list []map[string]any
		for i := range c.Entries {
			e := &c.Entries[i]
			one := map[string]any{"MessageBody": e.Body}
			if e.GroupIDGiven {
				one["MessageGroupId"] = e.GroupID
			}
			if e.DeduplicationIDGiven {
				one["MessageDeduplicationId"] = e.DeduplicationID
			}
			list = append(list, one)
		}
		return batchOr(c.Batch, "SendMessage", in, list)
	case *queue.ReceiveMessages:
		in["MaxNumberOfMessages"], in["VisibilityTimeout"], in["WaitTimeSeconds"] = c.MaxMessages.Value, c.VisibilityTimeout.Value, 0
		in["MessageSystemAttributeNames"] = []string{"All"}
		if c.AttemptIDGiven {
			in["ReceiveRequestAttemptId"] = c.AttemptID
		}
		return "ReceiveMessage", in
	case *queue.DeleteMessages:
		var list []map[string]any
		for _, h := range c.Handles {
			list = append(list, map[string]any{"ReceiptHandle": h})
		}
		return batchOr(c.Batch, "DeleteMessage", in, list)
	case *queue.ChangeMessageVisibility:
		var list []map[string]any
		for _, e := range c.Entries {
			list = append(list, map[string]any{"ReceiptHandle": e.Handle, "VisibilityTimeout": e.VisibilityTimeout.Value})
		}
		return batchOr(c.Batch, "ChangeMessageVisibility", in, list)
	}
	panic(fmt.Sprintf("no action is a %T", cmd))
}

func values(list []queue.Attribute) map[string]string {
	all := map[string]string{}
	for _, a := range list {
		all[a.Name] = a.Value
	}
	return all
}

// batchOr puts entries into the input of a batch, or the only entry into the input of a single
// call.
func batchOr(batch bool, action string, in map[string]any, list []map[string]any) (string, map[string]any) {
	if batch {
		for i := range list {
			list[i]["Id"] = strconv.Itoa(i)
		}
		in["Entries"] = list
		return action + "Batch", in
	}
	maps.Copy(in, list[0])
	return action, in
}

// result converts the client's answer to the domain's.
func result(cmd queue.Command, out *body) (queue.Result, error) {
	switch c := cmd.(type) {
	case *queue.SendMessages:
		return sent(c, out)
	case *queue.ReceiveMessages:
		return received(out)
	case *queue.DeleteMessages:
		errs, err := failures(len(c.Handles), out)
		return queue.EntriesDone{Errs: errs}, err
	case *queue.ChangeMessageVisibility:
		errs, err := failures(len(c.Entries), out)
		return queue.EntriesDone{Errs: errs}, err
	}
	return queue.Done{}, nil
}

func failures(entries int, out *body) ([]*queue.Error, error) {
	errs := make([]*queue.Error, entries)
	for _, f := range out.Failed {
		i, err := strconv.Atoi(f.ID)
		if err != nil || i < 0 || i >= entries {
			return nil, fmt.Errorf("the answer has an entry %q", f.ID)
		}
		if errs[i], err = refusal(f.Code, f.Message); err != nil {
			return nil, err
		}
	}
	return errs, nil
}

func sent(c *queue.SendMessages, out *body) (queue.Result, error) {
	r := queue.MessagesSent{Entries: make([]queue.SentEntry, len(c.Entries))}
	set := func(i int, id, number string) error {
		e := &r.Entries[i]
		if number != "" {
			n, ok := identifier.ParseSequenceNumber(number)
			if !ok {
				return fmt.Errorf("sequence number %q", number)
			}
			e.Sequence = n
		}
		return messageID(&e.MessageID, id)
	}
	if !c.Batch {
		return r, set(0, out.MessageID, out.SequenceNumber)
	}
	errs, err := failures(len(c.Entries), out)
	if err != nil {
		return nil, err
	}
	for i, e := range errs {
		r.Entries[i].Err = e
	}
	for _, s := range out.Successful {
		i, err := strconv.Atoi(s.ID)
		if err != nil || i < 0 || i >= len(r.Entries) || errs[i] != nil {
			return nil, fmt.Errorf("the answer has an entry %q", s.ID)
		}
		if err := set(i, s.MessageID, s.SequenceNumber); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func messageID(id *queue.MessageID, text string) error {
	raw, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	if err != nil || len(raw) != len(id) {
		return fmt.Errorf("message id %q", text)
	}
	copy(id[:], raw)
	return nil
}

func received(out *body) (queue.Result, error) {
	var r queue.MessagesReceived
	for _, m := range out.Messages {
		x := queue.ReceivedMessage{
			Body: message.NewBody(m.Body), SenderID: m.Attributes["SenderId"], GroupID: m.Attributes["MessageGroupId"],
			DeduplicationID: m.Attributes["MessageDeduplicationId"],
		}
		if arn := m.Attributes["DeadLetterQueueSourceArn"]; arn != "" {
			x.DeadLetterSource = arn[strings.LastIndex(arn, ":")+1:]
		}
		if number := m.Attributes["SequenceNumber"]; number != "" {
			n, ok := identifier.ParseSequenceNumber(number)
			if !ok {
				return nil, fmt.Errorf("sequence number %q", number)
			}
			x.Sequence = n
		}
		raw, err := hex.DecodeString(m.ReceiptHandle)
		if err != nil || len(raw) != len(x.Handle) {
			return nil, fmt.Errorf("receipt handle %q", m.ReceiptHandle)
		}
		copy(x.Handle[:], raw)
		for _, f := range []struct {
			name string
			to   *int64
		}{
			{"SentTimestamp", (*int64)(&x.SentAt)},
			{"ApproximateFirstReceiveTimestamp", (*int64)(&x.FirstReceivedAt)},
			{"ApproximateReceiveCount", &x.ReceiveCount},
		} {
			if *f.to, err = strconv.ParseInt(m.Attributes[f.name], 10, 64); err != nil {
				return nil, fmt.Errorf("%s: %w", f.name, err)
			}
		}
		if err := messageID(&x.MessageID, m.MessageID); err != nil {
			return nil, err
		}
		r.Messages = append(r.Messages, x)
	}
	return r, nil
}
