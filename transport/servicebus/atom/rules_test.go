package atom

import (
	"net/http"
	"strings"
	"testing"
)

func (f *fixture) putRule(path, parts string, more ...string) answer {
	f.t.Helper()
	return f.send(http.MethodPut, "/"+path+version, describing("RuleDescription", parts), more...)
}

// pair returns a parameter of a rule.
func pair(key, of, value string) string {
	return `<KeyValueOfstringanyType><Key>` + key + `</Key><Value i:type="x:` + of + `" xmlns:x="http://www.w3.org/2001/XMLSchema">` +
		value + `</Value></KeyValueOfstringanyType>`
}

const faulty = "<DeadLetteringOnFilterEvaluationExceptions>false</DeadLetteringOnFilterEvaluationExceptions>"

func TestRuleLife(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	want(t, f.putTopic("News", ""), http.StatusCreated)
	const rules = "news/subscriptions/S/rules"
	want(t, f.get(rules), http.StatusNotFound)
	want(t, f.get(rules+"/r"), http.StatusNotFound)
	want(t, f.putRule(rules+"/r", ""), http.StatusNotFound)
	want(t, f.remove(rules+"/r"), http.StatusNotFound)
	want(t, f.putSubscription("News/Subscriptions/s", ""), http.StatusCreated)
	want(t, f.get(rules+"/$default"), http.StatusOK, `<Filter i:type="TrueFilter"><SqlExpression>1=1</SqlExpression>`, "<Name>$Default<")

	sql := f.putRule(rules+"/A%20rule", `<Filter i:type="SqlFilter"><SqlExpression>a &lt; @p </SqlExpression>`+
		`<CompatibilityLevel>20</CompatibilityLevel><Parameters>`+pair("@p", "int", "5")+`</Parameters></Filter>`+
		`<Action i:type="SqlRuleAction"><SqlExpression>SET b = @q</SqlExpression><Parameters>`+pair("@q", "string", " x ")+
		`</Parameters></Action><CreatedAt>2020-01-01T00:00:00Z</CreatedAt><Name>A rule</Name>`)
	f.golden("rule_sql", sql, http.StatusCreated)
	correlation := f.putRule(rules+"/b", `<Filter i:type="CorrelationFilter"><Label>l</Label><CorrelationId>c</CorrelationId>`+
		`<To i:nil="true"/><Properties>`+pair("at", "dateTime", "2020-07-05T11:12:13")+pair("d", "double", "1.5")+
		`</Properties></Filter><Action i:type="EmptyRuleAction"/>`)
	f.golden("rule_correlation", correlation, http.StatusCreated)
	want(t, f.putRule(rules+"/B", ""), http.StatusConflict, "SubCode=40900.")
	want(t, f.putRule(rules+"/c", "", "If-Match", "*"), http.StatusNotFound)
	want(t, f.putRule(rules+"/B", `<Filter i:type="FalseFilter"/>`, "If-Match", "*"), http.StatusOK, "FalseFilter", "<Name>B<")
	want(t, f.get(rules+"/b"), http.StatusOK, `<Filter i:type="FalseFilter"><SqlExpression>1=0<`)
	f.golden("rules", f.send(http.MethodGet, "/"+rules+version+"&$skip=1&$top=1", ""), http.StatusOK)
	want(t, f.send(http.MethodGet, "/"+rules+version+"&$skip=2", ""), http.StatusOK, `<title type="text">B<`)
	if got := f.send(http.MethodGet, "/"+rules+version+"&$skip=3", ""); strings.Contains(got.body, "<entry") ||
		strings.Contains(got.body, `rel="next"`) {
		t.Errorf("the page after the end is %s", got.body)
	}
	want(t, f.remove(rules+"/a%20RULE"), http.StatusOK)
	want(t, f.remove(rules+"/a%20RULE"), http.StatusNotFound)
	want(t, f.get(rules+"/A%20rule"), http.StatusNotFound)
	correlated := func(parts string) string { return `<Filter i:type="CorrelationFilter">` + parts + `</Filter>` }
	for parts, text := range map[string]string{
		`<Filter i:type="SqlFilter"><SqlExpression>a &lt;</SqlExpression></Filter>`: "SubCode=40000.",
		`<Filter i:type="OtherFilter"/>`:                                            "'OtherFilter' of the filter is unknown",
		`<Action i:type="OtherAction"/>`:                                            "'OtherAction' of the action is unknown",
		`<Colour/>`:                                                                 "no element Colour",
		correlated("<Color>x</Color>"):                                              "no element Color",
		correlated("<Properties>" + pair("a", "int", "x") + "</Properties>"):        "'x' has not the type int",
		correlated("<Properties>" + pair("a", "qname", "x") + "</Properties>"):      "'qname' of a value is unknown",
		correlated("<Properties><KeyValueOfstringanyType/></Properties>"):           "must have a Key and a Value",
	} {
		want(t, f.putRule(rules+"/wrong", parts), http.StatusBadRequest, text)
	}
	want(t, f.putRule(rules+"/"+strings.Repeat("r", 51), ""), http.StatusBadRequest, "1 to 50 characters")
	want(t, f.put(rules+"/r", ""), http.StatusBadRequest, "no description of a rule")
}

// TestFirstRule creates subscriptions with a rule of their own.
func TestFirstRule(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	want(t, f.putTopic("News", ""), http.StatusCreated)
	first := func(filter string) string {
		return `<DefaultRuleDescription><Filter i:type="SqlFilter"><SqlExpression>` + filter +
			`</SqlExpression></Filter><Name>first</Name></DefaultRuleDescription>` + faulty
	}
	want(t, f.putSubscription("News/Subscriptions/s", first("a =")), http.StatusBadRequest, "SubCode=40000.")
	if f.exists("News_2FSubscriptions_2Fs.fifo") {
		t.Error("a refused request created a queue")
	}
	want(t, f.putSubscription("News/Subscriptions/s", first("a = 1")), http.StatusCreated, faulty)
	got := f.get("News/Subscriptions/s/rules")
	want(t, got, http.StatusOK, "<SqlExpression>a = 1<", "<Name>first<")
	if strings.Count(got.body, "<RuleDescription") != 1 {
		t.Errorf("the rules are %s", got.body)
	}
	// An update leaves rules alone.
	kept := strings.Replace(first("a = 2"), faulty, "<MaxDeliveryCount>5</MaxDeliveryCount>", 1)
	want(t, f.putSubscription("News/Subscriptions/s", kept, "If-Match", "*"), http.StatusOK, faulty)
	want(t, f.get("News/Subscriptions/s/rules"), http.StatusOK, "<SqlExpression>a = 1<")
	on := strings.Replace(faulty, "false", "true", 1)
	want(t, f.putSubscription("News/Subscriptions/s", on, "If-Match", "*"), http.StatusOK, on, "<MaxDeliveryCount>5<")
	want(t, f.putSubscription("News/Subscriptions/s", faulty, "If-Match", "*"), http.StatusOK, faulty)
	want(t, f.get("News/Subscriptions"), http.StatusOK, faulty)
}
