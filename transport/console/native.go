package console

import (
	"net/http"

	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/transport/grpc"
	"github.com/seriatimq/seriatim/transport/grpc/seriatimpb"
	"github.com/seriatimq/seriatim/transport/ops"
)

// local returns a connection to the native API for the caller. Names without an account belong to
// the account of a named resource, which shows its operator what the account itself sees.
func (p *page) local(named string) *grpc.Local {
	caller := grpc.LocalCaller{Request: p.r}
	if p.session.credentials.key.AccessKeyID != "" {
		caller.Identity = p.session.credentials.key
	} else {
		caller.Operator, caller.ReadOnly = p.who.Name, p.who.Role < ops.Operate
		caller.Account = p.console.Names.ID(access.OwnerOf(named))
	}
	return p.console.Native.Local(caller)
}

func (p *page) queuesAPI(queue string) seriatimpb.QueuesClient {
	return seriatimpb.NewQueuesClient(p.local(queue))
}

func (p *page) messagesAPI(queue string) seriatimpb.MessagesClient {
	return seriatimpb.NewMessagesClient(p.local(queue))
}

func (p *page) inspection(queue string) seriatimpb.InspectionClient {
	return seriatimpb.NewInspectionClient(p.local(queue))
}

func (p *page) sessionsAPI(queue string) seriatimpb.SessionsClient {
	return seriatimpb.NewSessionsClient(p.local(queue))
}

func (p *page) topicsAPI(topic string) seriatimpb.TopicsClient {
	return seriatimpb.NewTopicsClient(p.local(topic))
}

// get reads a document of the admin port.
func (p *page) get(target string, answer any) error {
	return p.admin(http.MethodGet, target, nil, answer)
}

// post makes a change on the admin port, which checks the role and writes the audit.
func (p *page) post(target string, change, answer any) error {
	return p.admin(http.MethodPost, target, change, answer)
}

func (p *page) admin(method, target string, change, answer any) error {
	return p.console.Admin.Call(p.r.Context(), ops.Local{
		Operator: p.who, Remote: p.r.RemoteAddr, Method: method, Target: target, Body: change,
	}, answer)
}
