package ops

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/transport/ops/document"
	"github.com/seriatimq/seriatim/transport/ops/records"
)

const (
	subjectAudit = "audit"
	subjectLogs  = "logs"
	recordsMax   = 1000
	// recordsJSONMax bounds the records of one node in an answer.
	recordsJSONMax = 512 << 10
)

// recordsQuery selects records of all nodes.
type recordsQuery struct {
	records.Query
	AfterOf map[string]uint64 // After by node id
}

// ownRecords are records of one node.
type ownRecords struct {
	List []records.Record
	Last uint64
}

// provideRecords answers the questions of other nodes about a log of this node.
func (a *Admin) provideRecords(node asking, subject string, ring *records.Ring) {
	node.Provide(subject, func(_ context.Context, text json.RawMessage) (any, error) {
		var q recordsQuery
		if err := json.Unmarshal(text, &q); err != nil {
			return nil, err
		}
		q.After = q.AfterOf[a.Node.Status().NodeID]
		list, last := ring.Find(q.Query, recordsJSONMax)
		return ownRecords{list, last}, nil
	})
}

// recordsOf answers GET /v1/audit and GET /v1/logs.
func (a *Admin) recordsOf(w http.ResponseWriter, r *http.Request, node asking, subject string) {
	q, problem := a.readRecordsQuery(r.URL.Query())
	if problem != "" {
		a.fail(w, http.StatusBadRequest, problem)
		return
	}
	answers, missing, err := node.AskAll(r.Context(), subject, q)
	if err != nil {
		a.fail(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	a.answer(w, http.StatusOK, mergeRecords(&q, answers, missing))
}

func mergeRecords(q *recordsQuery, answers []cluster.NodeAnswer, missing []string) document.Records {
	out := document.Records{Records: []document.Record{}, Missing: listed(missing)}
	after := map[string]uint64{}
	for id, seq := range q.AfterOf { // order does not matter
		after[id] = seq
	}
	for _, answer := range answers {
		var own ownRecords
		if json.Unmarshal(answer.Content, &own) != nil {
			out.Missing = append(out.Missing, answer.Node)
			continue
		}
		after[answer.NodeID] = own.Last
		for _, r := range own.List {
			shown := document.Record{
				TimeMs: r.TimeMs, NodeID: answer.NodeID, Node: answer.Node, Level: r.Level.String(), Message: r.Message, Seq: r.Seq,
				Attributes: make([]document.RecordAttribute, 0, len(r.Attributes)),
			}
			for _, attribute := range r.Attributes {
				shown.Attributes = append(shown.Attributes, document.RecordAttribute(attribute))
			}
			out.Records = append(out.Records, shown)
		}
	}
	slices.SortStableFunc(out.Records, func(a, b document.Record) int { return cmp.Compare(a.TimeMs, b.TimeMs) })
	if n := len(out.Records) - q.Limit; n > 0 && len(q.AfterOf) == 0 {
		out.Records = out.Records[n:]
	}
	out.After = formatAfter(after)
	return out
}

// readRecordsQuery reads the parameters. problem says what is wrong with them.
func (a *Admin) readRecordsQuery(p url.Values) (q recordsQuery, problem string) {
	q.Limit, q.Find = 200, p.Get("find")
	if text := p.Get("limit"); text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil || limit < 1 || limit > recordsMax {
			return q, "limit must be a number between 1 and " + strconv.Itoa(recordsMax)
		}
		q.Limit = limit
	}
	if q.Level = slog.LevelDebug; p.Get("level") != "" && q.Level.UnmarshalText([]byte(p.Get("level"))) != nil {
		return q, "level must be debug, info, warn or error"
	}
	if text := p.Get("since"); text != "" {
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			ago, bad := time.ParseDuration(text)
			if bad != nil || ago < 0 {
				return q, "since must be a time in milliseconds since 1970, or a duration such as 15m"
			}
			ms = a.Now().Add(-ago).UnixMilli()
		}
		q.SinceMs = ms
	}
	var ok bool
	if q.AfterOf, ok = parseAfter(p.Get("after")); !ok {
		return q, "after must be the value of after in an earlier answer"
	}
	return q, ""
}

// formatAfter writes the newest number of each node.
func formatAfter(after map[string]uint64) string {
	list := make([]string, 0, len(after))
	for id, seq := range after { // sorted below
		list = append(list, id+":"+strconv.FormatUint(seq, 10))
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

func parseAfter(text string) (after map[string]uint64, ok bool) {
	after = map[string]uint64{}
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		id, number, _ := strings.Cut(part, ":")
		seq, err := strconv.ParseUint(number, 10, 64)
		if err != nil || id == "" {
			return nil, false
		}
		after[id] = seq
	}
	return after, true
}
