package ops

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seriatimq/seriatim/cluster"
	"github.com/seriatimq/seriatim/queue"
	"github.com/seriatimq/seriatim/queue/access"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

const accountsPath = "/v1/accounts"

func (a *Admin) accountRoutes(node submitter) []route {
	s := accessAdmin{a, node}
	return []route{
		{"GET " + accountsPath, Operate, s.accounts},
		{"POST " + accountsPath, Administrator, s.createAccount},
		{"POST " + accountsPath + "/{id}/quota", Administrator, s.setQuota},
		{"POST " + accountsPath + "/{id}/delete", Administrator, func(w http.ResponseWriter, r *http.Request) {
			s.changeKey(w, r, &access.DeleteAccount{Account: r.PathValue("id")})
		}},
	}
}

// accounts lists all accounts, that of the cluster first.
func (s accessAdmin) accounts(w http.ResponseWriter, r *http.Request) {
	var list document.Accounts
	_, err := s.Node.Read(r.Context(), func(v queue.View) error {
		s.eachAccount(v, func(a document.Account) { list.Accounts = append(list.Accounts, a) })
		return nil
	})
	s.answerRead(w, r, err, &list)
}

// eachAccount calls visit for all accounts, that of the cluster first.
func (a *Admin) eachAccount(v queue.View, visit func(document.Account)) {
	of := func(owner access.Account) document.Account {
		out := document.Account{Account: owner.ID, Quota: document.Quota(owner.Quota), Usage: document.Usage(v.Usage(owner.ID))}
		if out.Account == "" {
			out.Account, out.Own = a.Account, true
		} else {
			out.CreatedAt = time.UnixMilli(int64(owner.CreatedAt)).UTC().Format(time.RFC3339)
		}
		return out
	}
	own, _ := v.Access().Account("")
	visit(of(own))
	v.Access().Accounts(func(other access.Account) bool {
		if other.ID != "" {
			visit(of(other))
		}
		return true
	})
}

func (s accessAdmin) createAccount(w http.ResponseWriter, r *http.Request) {
	var change document.NewAccount
	if !s.decode(w, r, &change) {
		return
	}
	aimAt(r.Context(), change.Account)
	if change.Account == s.Account {
		s.fail(w, http.StatusBadRequest, "the account "+s.Account+" is that of the cluster, which always exists")
		return
	}
	if s.submit(w, r, &access.CreateAccount{Account: change.Account, Quota: access.Quota(change.Quota)}) {
		s.answer(w, http.StatusOK, struct{}{})
	}
}

// setQuota replaces the quota of an account.
func (s accessAdmin) setQuota(w http.ResponseWriter, r *http.Request) {
	var wanted document.Quota
	if !s.decode(w, r, &wanted) {
		return
	}
	aimAt(r.Context(), r.PathValue("id"))
	cmd := &access.SetAccountQuota{Account: r.PathValue("id"), Quota: access.Quota(wanted)}
	if cmd.Account == s.Account {
		cmd.Account = "" // its name in the state
	} else if !access.IsAccountID(cmd.Account) {
		s.fail(w, http.StatusBadRequest, "an account id has 12 digits")
		return
	}
	if s.submit(w, r, cmd) {
		s.answer(w, http.StatusOK, struct{}{})
	}
}

// accountSeriesMax bounds the accounts with metrics, in the order of their numbers.
const accountSeriesMax = 100

// accounts sends the usage and the limits of accounts.
func (c nodeCollector) accounts(out chan<- prometheus.Metric) {
	var all []document.Account
	c.admin.Node.ReadLocal(func(v queue.View) {
		c.admin.eachAccount(v, func(a document.Account) {
			if len(all) < accountSeriesMax {
				all = append(all, a)
			}
		})
	})
	for _, a := range all {
		export := func(name, help string, kind cluster.MetricKind, value float64, labels ...cluster.MetricLabel) {
			labels = append([]cluster.MetricLabel{{Name: "account", Value: a.Account}}, labels...)
			out <- exported(cluster.Metric{Name: name, Help: help, Kind: kind, Labels: labels, Value: value})
		}
		if c.admin.RequestsRefused != nil {
			owner := a.Account
			if a.Own {
				owner = ""
			}
			export("seriatim_account_requests_throttled_total",
				"Requests that were refused at this node because of the quota of their account, by account.",
				cluster.Counter, float64(c.admin.RequestsRefused(owner)))
		}
		export("seriatim_account_messages", "Messages that an account stores, in queues, in archives of topics and for HTTP "+
			"subscribers, by account.", cluster.Gauge, float64(a.Usage.Messages))
		export("seriatim_account_bytes", "Bytes of the messages that an account stores, bodies and attributes, by account.", cluster.Gauge,
			float64(a.Usage.Bytes))
		for _, of := range []struct {
			what      string
			has, most int64
		}{
			{"queues", a.Usage.Queues, a.Quota.Queues},
			{"topics", a.Usage.Topics, a.Quota.Topics},
			{"messages", a.Usage.Messages, a.Quota.Messages},
			{"bytes", a.Usage.Bytes, a.Quota.Bytes},
		} {
			if of.most != 0 {
				export("seriatim_account_quota_ratio", "Share of each limit of its quota that an account uses, by account and limit; "+
					"absent without a limit.",
					cluster.Gauge, float64(of.has)/float64(of.most), cluster.MetricLabel{Name: "resource", Value: of.what})
			}
		}
	}
}
