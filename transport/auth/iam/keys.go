package iam

import (
	"maps"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/seriatimq/seriatim/queue/jsontext"
)

// form is the type of the values of a condition.
type form uint8

const (
	formText form = iota
	formARN
	formNumber
	formDate
	formTruth
	formAddress
)

// checkValue refuses text that is no value of a form.
func (f form) checkValue(path, text string) error {
	switch f {
	case formText:
		_, err := withoutVariables(path, text)
		return err
	case formARN:
		if plain, err := withoutVariables(path, text); err != nil || overlap(plain, "arn:*:*:*:*:*") {
			return err
		}
		return problem(path, "must be an ARN")
	case formNumber:
		if n, err := strconv.ParseFloat(text, 64); err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return problem(path, "must be a number")
		}
	case formDate:
		if _, ok := parseDate(text); !ok {
			return problem(path, "must be a date such as 2030-01-31T00:00:00Z")
		}
	case formTruth:
		if !strings.EqualFold(text, "true") && !strings.EqualFold(text, "false") {
			return problem(path, "must be true or false")
		}
	case formAddress:
		if !isAddress(text) {
			return problem(path, "must be an address or a network such as 10.0.0.0/8")
		}
	}
	return nil
}

// isAddress reports whether text is an address or a network without a zone, with IPv4 in its own form, as
// in requests.
func isAddress(text string) bool {
	if network, err := netip.ParsePrefix(text); err == nil {
		return !network.Addr().Is4In6()
	}
	address, err := netip.ParseAddr(text)
	return err == nil && address.Zone() == ""
}

// key describes a condition key.
type key struct {
	forms []form // of the operators that compare it
	// foreign marks keys that only requests on AWS have.
	foreign bool
}

var (
	textForms    = []form{formText}
	arnForms     = []form{formARN, formText}
	numberForms  = []form{formNumber}
	dateForms    = []form{formDate}
	truthForms   = []form{formTruth}
	addressForms = []form{formAddress}
)

// keys is the table of condition keys, in lower case. A key with a slash at the end is a prefix.
var keys = map[string]key{
	"aws:currenttime":      {forms: dateForms},
	"aws:principalaccount": {forms: textForms},
	"aws:principalarn":     {forms: arnForms},
	"aws:securetransport":  {forms: truthForms},
	"aws:sourceip":         {forms: addressForms},
	"aws:useragent":        {forms: textForms},
	"aws:username":         {forms: textForms},

	"aws:calledvia":                    {textForms, true},
	"aws:calledviafirst":               {textForms, true},
	"aws:calledvialast":                {textForms, true},
	"aws:ec2instancesourceprivateipv4": {addressForms, true},
	"aws:ec2instancesourcevpc":         {textForms, true},
	"aws:epochtime":                    {[]form{formDate, formNumber}, true},
	"aws:federatedprovider":            {textForms, true},
	"aws:multifactorauthage":           {numberForms, true},
	"aws:multifactorauthpresent":       {truthForms, true},
	"aws:principalisawsservice":        {truthForms, true},
	"aws:principalorgid":               {textForms, true},
	"aws:principalorgpaths":            {textForms, true},
	"aws:principalservicename":         {textForms, true},
	"aws:principalservicenameslist":    {textForms, true},
	"aws:principaltag/":                {textForms, true},
	"aws:principaltype":                {textForms, true},
	"aws:referer":                      {textForms, true},
	"aws:requestedregion":              {textForms, true},
	"aws:requesttag/":                  {textForms, true},
	"aws:resourceaccount":              {textForms, true},
	"aws:resourceorgid":                {textForms, true},
	"aws:resourceorgpaths":             {textForms, true},
	"aws:resourcetag/":                 {textForms, true},
	"aws:sourceaccount":                {textForms, true},
	"aws:sourcearn":                    {arnForms, true},
	"aws:sourceidentity":               {textForms, true},
	"aws:sourceorgid":                  {textForms, true},
	"aws:sourceorgpaths":               {textForms, true},
	"aws:sourceowner":                  {textForms, true},
	"aws:sourcevpc":                    {textForms, true},
	"aws:sourcevpce":                   {textForms, true},
	"aws:tagkeys":                      {textForms, true},
	"aws:tokenissuetime":               {dateForms, true},
	"aws:userid":                       {textForms, true},
	"aws:viaawsservice":                {truthForms, true},
	"aws:vpcsourceip":                  {addressForms, true},
	"sns:endpoint":                     {textForms, true},
	"sns:protocol":                     {textForms, true},
}

// variables lists the valid names in ${...}, sorted, in lower case: the keys of requests, and the escaped
// characters.
var variables = func() []string {
	names := []string{"$", "*", "?"}
	for name, k := range keys {
		if !k.foreign {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}()

// keyOf finds a key by its name in lower case.
func keyOf(name string) (k key, known bool) {
	if i := strings.IndexByte(name, '/'); i >= 0 {
		if i+1 == len(name) {
			return k, false
		}
		name = name[:i+1]
	}
	k, known = keys[name]
	return k, known
}

const operatorNull = "Null"

func readConditions(path string, members map[string]jsontext.Value, deny bool) (list []condition, err error) {
	value, given := members["Condition"]
	if !given {
		return nil, nil
	}
	path += ".Condition"
	names := append(slices.Sorted(maps.Keys(operators)), operatorNull)
	for _, name := range names[:len(names)-1] {
		names = append(names, name+"IfExists")
	}
	byOperator, err := readObject(path, value, "operator", names)
	if err != nil {
		return nil, err
	}
	if len(byOperator) == 0 {
		return nil, problem(path, "it has no condition: leave it out")
	}
	for name, value := range value.Members() {
		of, err := readOperator(path+"."+name.Text(), name.Text(), value, deny)
		if err != nil {
			return nil, err
		}
		list = append(list, of...)
	}
	return list, nil
}

// readOperator reads the keys of one operator.
func readOperator(path, name string, value jsontext.Value, deny bool) (list []condition, err error) {
	if value.Kind() != jsontext.KindObject {
		return nil, problem(path, "must be an object with keys and their values")
	}
	base, ifExists := strings.CutSuffix(name, "IfExists")
	c := condition{operator: operators[base], ifExists: ifExists, isNull: name == operatorNull}
	if c.isNull {
		c.operator.form = formTruth
	}
	seen := map[string]bool{}
	for name, values := range value.Members() {
		at := path + "." + name.Text()
		c.key = strings.ToLower(name.Text())
		k, known := keyOf(c.key)
		switch {
		case !known:
			return nil, problem(at, "there is no such condition key%s", suggest(name.Text(), slices.Sorted(maps.Keys(keys))))
		case seen[c.key]:
			return nil, problem(at, "the key is there twice")
		case !c.isNull && !slices.Contains(k.forms, c.operator.form):
			return nil, problem(at, "%s does not compare this key", base)
		}
		seen[c.key] = true
		if c.wanted, err = readTexts(at, values, true, c.operator.form.checkValue); err != nil {
			return nil, err
		}
		if k.foreign {
			if err := c.checkForeign(at, deny); err != nil {
				return nil, err
			}
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, problem(path, "it names no key")
	}
	return list, nil
}

// checkForeign refuses a condition on a key that requests never have, unless it is safe: a permission that
// permits nothing, or a denial of everything.
func (c *condition) checkForeign(path string, deny bool) error {
	switch holds := c.match(&Request{}); {
	case holds && !deny:
		return problem(path, "no request has this key, so that the condition always holds")
	case !holds && deny:
		return problem(path, "no request has this key, so that this denies nothing")
	}
	return nil
}
