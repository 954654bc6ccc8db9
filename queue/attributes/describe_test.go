package attributes

import "testing"

// A lower value loses something if the attribute says so. A higher, an equal and an invalid one do
// not.
func TestLoss(t *testing.T) {
	t.Parallel()
	known := map[string]Described{}
	for _, d := range append(DescribeTopics(), Describe()...) {
		known[d.Name] = d
	}
	for _, c := range []struct{ name, have, want, loss string }{
		{"DeduplicationWindowSeconds", "300", "299", losesIDs}, {"DeduplicationWindowSeconds", "300", "300", ""},
		{"DeduplicationWindowSeconds", "300", "301", ""}, {"DeduplicationWindowSeconds", "300", "", ""},
		{"DeduplicationWindowSeconds", "300", "x", ""}, {"MessageRetentionPeriod", "345600", "99999", losesMessages},
		{"VisibilityTimeout", "30", "0", ""}, {"MaxDeduplicationEntries", "10", "1", ""},
		{"ArchivePolicy", `{"MessageRetentionPeriod":"30"}`, `{"MessageRetentionPeriod":7}`, losesArchive},
		{"ArchivePolicy", `{"MessageRetentionPeriod":"30"}`, `{}`, losesArchive},
		{"ArchivePolicy", `{"MessageRetentionPeriod":7}`, `{"MessageRetentionPeriod":"30"}`, ""},
		{"ArchivePolicy", "", `{"MessageRetentionPeriod":7}`, ""}, {"ArchivePolicy", `{"MessageRetentionPeriod":7}`, "", ""},
	} {
		d := known[c.name]
		if got := d.Loss(c.have, c.want); got != c.loss {
			t.Errorf("%s from %s to %s loses %q, want %q", c.name, c.have, c.want, got, c.loss)
		}
	}
}
