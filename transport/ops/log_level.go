package ops

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// subjectLogLevel is the subject of questions about the level of the log. The content is the new
// level; empty: the level stays.
const subjectLogLevel = "log-level"

// provideLogLevel answers the questions of other nodes about the level of this one.
func (a *Admin) provideLogLevel(node asking) {
	node.Provide(subjectLogLevel, func(_ context.Context, text json.RawMessage) (any, error) {
		var level string
		if err := json.Unmarshal(text, &level); err != nil {
			return nil, err
		}
		if level != "" {
			before := a.LogLevel.Level()
			if err := a.LogLevel.UnmarshalText([]byte(level)); err != nil {
				return nil, err
			}
			a.Logger.Warn("the log level was changed", "from", nameOf(before), "to", level)
		}
		return nameOf(a.LogLevel.Level()), nil
	})
}

func nameOf(level slog.Level) string { return strings.ToLower(level.String()) }

// logLevels answers GET /v1/logs/level.
func (a *Admin) logLevels(w http.ResponseWriter, r *http.Request, node asking) {
	a.askLogLevel(w, r, node, document.SetLogLevel{})
}

// setLogLevel answers POST /v1/logs/level.
func (a *Admin) setLogLevel(w http.ResponseWriter, r *http.Request, node asking) {
	var in document.SetLogLevel
	if !a.readBody(w, r, changeBytesMax, &in) {
		return
	}
	switch in.Level {
	case "debug", "info", "warn", "error":
	default:
		a.fail(w, http.StatusBadRequest, "level must be debug, info, warn or error")
		return
	}
	aimAt(r.Context(), in.Node+"/"+in.Level)
	a.askLogLevel(w, r, node, in)
}

// askLogLevel asks one node or all for their levels, after a change if in has one.
func (a *Admin) askLogLevel(w http.ResponseWriter, r *http.Request, node asking, in document.SetLogLevel) {
	var answers []cluster.NodeAnswer
	var missing []string
	var err error
	if in.Node == "" {
		answers, missing, err = node.AskAll(r.Context(), subjectLogLevel, in.Level)
	} else {
		answers = make([]cluster.NodeAnswer, 1)
		answers[0], err = node.AskOne(r.Context(), in.Node, subjectLogLevel, in.Level)
	}
	if err != nil {
		a.failChange(w, err)
		return
	}
	out := document.LogLevels{Nodes: []document.LogLevel{}, Missing: listed(missing)}
	for _, answer := range answers {
		of := document.LogLevel{Node: answer.Node, NodeID: answer.NodeID}
		if json.Unmarshal(answer.Content, &of.Level) != nil {
			out.Missing = append(out.Missing, answer.Node)
			continue
		}
		out.Nodes = append(out.Nodes, of)
	}
	a.answer(w, http.StatusOK, out)
}
