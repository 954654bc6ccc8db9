package definitions

import (
	"context"
	"errors"
	"net/url"
	"slices"

	"github.com/seriatimq/seriatim/cmd/seriatim/exit"
	"github.com/seriatimq/seriatim/transport/ops/document"
)

// post adds a step that calls the admin port.
func (p *planner) post(drops bool, text string, path func(context.Context) (string, error), in any) {
	p.plan.Steps = append(p.plan.Steps, Step{text, drops, func(ctx context.Context) error {
		to, err := path(ctx)
		if err != nil {
			return err
		}
		return p.cluster.Post(ctx, to, in, &struct{}{})
	}})
}

// postPolicy adds a step that stores the policy of a user. Steps before it may teach the place.
func (p *planner) postPolicy(u Policy, name string) {
	p.plan.Steps = append(p.plan.Steps, Step{"store the policy of the user " + name, false, func(ctx context.Context) error {
		if hasVariables(u.Policy) && p.place == (place{}) {
			return exit.New(exit.Conflict, errors.New("the ARNs of the cluster are unknown, because it has no queue and no topic"),
				"create a queue, or write the region and the account into the policy")
		}
		return p.cluster.Post(ctx, policiesPath, document.UserPolicy{Account: u.Account, User: u.User, Policy: p.place.fill(u.Policy)},
			&struct{}{})
	}})
}

func at(path string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return path, nil }
}

func (p *planner) accounts(list []Difference) {
	done := map[string]bool{}
	for _, d := range list {
		if done[d.Name] {
			continue
		}
		done[d.Name] = true
		i := slices.IndexFunc(p.want.Accounts, func(a Account) bool { return a.shown() == d.Name })
		switch {
		case i < 0: // see removeAccounts
		case d.Kind == Add && d.Value == "":
			a := p.want.Accounts[i]
			p.post(false, "create the account "+d.Name, at(accountsPath), document.NewAccount{Account: a.ID, Quota: a.quota()})
		default:
			a := p.want.Accounts[i]
			p.post(false, "set the quota of the account "+d.Name, func(ctx context.Context) (string, error) {
				id := a.ID
				if a.Own {
					own, err := p.cluster.own(ctx)
					if err != nil {
						return "", err
					}
					id = own
				}
				return accountsPath + "/" + url.PathEscape(id) + "/quota", nil
			}, a.quota())
		}
	}
}

// removeAccounts deletes accounts, but for that of the cluster.
func (p *planner) removeAccounts(list []Difference) {
	for _, d := range list {
		if d.Name != (&Account{Own: true}).shown() {
			p.post(true, "delete the account "+d.Name, at(accountsPath+"/"+url.PathEscape(d.Name)+"/delete"), struct{}{})
		}
	}
}

func (p *planner) policies(list []Difference) {
	for _, d := range list {
		if d.Kind == Remove {
			if p.prune {
				u := policyOf(p.have, d.Name)
				p.post(true, "delete the policy of the user "+d.Name, at(policiesPath),
					document.UserPolicy{Account: u.Account, User: u.User})
			}
			continue
		}
		p.postPolicy(policyOf(p.want, d.Name), d.Name)
	}
}

// policyOf returns the policy with a name of Compare.
func policyOf(d *Document, name string) Policy {
	i := slices.IndexFunc(d.Policies, func(u Policy) bool { return qualified(u.Account, u.User) == name })
	return d.Policies[i]
}

// keys enables and disables keys. It cannot create any, because a document has no secrets.
func (p *planner) keys(list []Difference) {
	for _, d := range list {
		switch {
		case d.Kind == Add:
			p.plan.Notes = append(p.plan.Notes,
				"the access key "+d.Name+" is missing: seriatim key create --id "+d.Name+" --secret-file FILE creates it")
		case d.Kind == Change && d.Value == "active":
			verb := map[string]string{"true": "enable", "false": "disable"}[d.Want]
			p.post(false, verb+" the access key "+d.Name, at(keysPath+"/"+url.PathEscape(d.Name)+"/"+verb), struct{}{})
		case d.Kind == Change:
			p.plan.Notes = append(p.plan.Notes, "the access key "+d.Name+" belongs to "+d.Have+", in the file to "+d.Want)
		}
	}
}
