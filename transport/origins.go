package transport

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/seriatimq/seriatim/transport/service"
)

// Origins decides which web pages may use a port. A browser sends requests of any page to any address,
// also to one that only the user's machine can reach. Pages cannot change the headers that name their
// origin. Other clients send no such headers and are not affected.
//
//   - Origin must be that of the port itself, or be allowed.
//   - Without Origin, as for images, Sec-Fetch-Site must not name another site.
//   - On a loopback port, Host must be an address, localhost, or a configured name. Otherwise the owner
//     of a page could point the name of the page at the loopback address (DNS rebinding).
//
// Notifications of topics are refused, too: a subscribed URL could otherwise send commands to the admin
// port of another node.
type Origins struct {
	// Allowed lists origins such as https://app.example.org; * allows all. A loopback port also
	// accepts their names in Host.
	Allowed []string
	// Loopback is set if only this machine reaches the port.
	Loopback bool
}

// LoopbackAddress reports whether only this machine reaches an address to listen on.
func LoopbackAddress(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// Wrap refuses requests that break the rules with 403, and lets browsers show answers to pages of
// allowed origins.
func (o Origins) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if problem := o.check(r); problem != "" {
			refuseOrigin(w, r, problem)
			return
		}
		if origin := first(r.Header["Origin"]); origin != "" && o.allowed(origin) {
			h := w.Header()
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Vary", "Origin")
			h.Set("Access-Control-Expose-Headers", "x-amzn-RequestId, x-amzn-query-error")
			if r.Method == http.MethodOptions && r.Header["Access-Control-Request-Method"] != nil {
				h.Set("Access-Control-Allow-Methods", "GET, POST")
				h.Set("Access-Control-Allow-Headers", first(r.Header["Access-Control-Request-Headers"]))
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// check returns the reason to refuse a request, empty if there is none.
func (o Origins) check(r *http.Request) string {
	if len(r.Header["X-Amz-Sns-Message-Type"]) > 0 {
		return "Topics deliver to subscribers, not to the ports of a cluster."
	}
	if o.Loopback && !o.knownHost(r.Host) {
		return "The Host header is a name that is not configured. A port on the loopback address is called by an address or as " +
			"localhost; " +
			"allow other names with --allow-origin."
	}
	if origins := r.Header["Origin"]; len(origins) > 0 {
		if len(origins) > 1 || !o.own(origins[0], r.Host) && !o.allowed(origins[0]) {
			return "Web pages of this origin may not use this port. Allow them with --allow-origin."
		}
		return ""
	}
	if site := first(r.Header["Sec-Fetch-Site"]); site != "" && site != "same-origin" && site != "none" {
		return "Web pages of other origins may not use this port. Allow them with --allow-origin."
	}
	return ""
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// own reports whether a page came from the port that it calls.
func (o Origins) own(origin, host string) bool {
	_, from, ok := strings.Cut(origin, "://")
	return ok && host != "" && strings.EqualFold(from, host)
}

func (o Origins) allowed(origin string) bool {
	return slices.ContainsFunc(o.Allowed, func(a string) bool { return a == "*" || strings.EqualFold(a, origin) })
}

// knownHost reports whether a Host header holds an address, localhost, or the name of an allowed origin.
func (o Origins) knownHost(host string) bool {
	name := host
	if i := strings.LastIndexByte(name, ':'); i >= 0 && !strings.HasSuffix(name, "]") {
		name = name[:i]
	}
	if name == "127.0.0.1" || strings.EqualFold(name, "localhost") || name == "" {
		return true
	}
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return true
	}
	if len(name) > len(".localhost") && strings.EqualFold(name[len(name)-len(".localhost"):], ".localhost") {
		return true // always the loopback address in browsers and resolvers
	}
	return slices.ContainsFunc(o.Allowed, func(a string) bool {
		_, allowed, _ := strings.Cut(a, "://")
		allowed, _, _ = strings.Cut(allowed, ":")
		return a == "*" || strings.EqualFold(allowed, name)
	})
}

// refuseOrigin answers in the form of AWS, for SDKs.
func refuseOrigin(w http.ResponseWriter, r *http.Request, problem string) {
	service.RequestOf(r.Context()).Code = "AccessDenied"
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Amzn-Query-Error", "AccessDenied;Sender")
	w.WriteHeader(http.StatusForbidden)
	_, _ = w.Write([]byte(`{"__type":"com.amazon.coral.service#AccessDeniedException","message":"` + problem + `"}` + "\n"))
}
