package servicebus

import (
	"context"
	"strings"

	"github.com/seriatimq/seriatim/transport/amqp/wire"
	"github.com/seriatimq/seriatim/transport/auth/sas"
)

// tokenNode returns the service of $cbs. Clients put a token before the links that it covers, and again
// before its end.
func (c *connection) tokenNode() nodeService {
	return func(ctx context.Context, r *request) *response {
		if r.property("operation").Is("put-token") {
			return c.putToken(ctx, r)
		}
		return &response{code: 501, condition: notImplemented, text: "The only operation is put-token."}
	}
}

// putToken verifies a token.
func (c *connection) putToken(ctx context.Context, r *request) *response {
	text, ok := r.body().Text()
	if !ok {
		if bytes, is := r.body().Binary(); is {
			text, ok = string(bytes), true
		}
	}
	if !ok {
		return &response{code: 400, condition: argumentError, text: "The body of put-token is the text of the token."}
	}
	caller, token, err := c.server.Tokens.VerifyToken(ctx, text)
	if err == nil && c.server.Authorizer != nil {
		if err = c.server.Authorizer.RefuseAnonymous(caller); err == nil {
			err = sas.CheckCovers(&token, pathOfURI(textOf(r.property("name"))))
		}
	}
	if err != nil {
		c.conn.Refused()
		of, _ := c.server.errorOf(err)
		if of.Condition == unauthorizedAccess {
			return &response{code: 401, condition: authFailed, text: of.Description}
		}
		return errorResponse(of)
	}
	if !c.claim(caller, token) {
		return &response{code: 403, condition: resourceLimitExceeded, text: "The connection has too many tokens."}
	}
	c.conn.Verified()
	return &response{code: 202, text: "Accepted", body: wire.AppendString(nil, "")}
}

// pathOfURI returns the path of a URI such as sb://host:5671/orders.
func pathOfURI(uri string) string {
	_, rest, ok := strings.Cut(uri, "://")
	if !ok {
		return uri
	}
	_, path, _ := strings.Cut(rest, "/")
	return path
}
