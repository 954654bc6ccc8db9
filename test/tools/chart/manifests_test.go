package chart

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write deploy/kubernetes and the files that the chart has copies of")

// manifestHead begins the manifests.
const manifestHead = `# Three nodes of seriatim in the namespace seriatim, for those who have no helm:
#   kubectl create namespace seriatim
#   kubectl apply -f deploy/kubernetes/seriatim.yaml
# A job makes certificates, keys and tokens; the nodes wait for them. Clients need the label
# seriatim-client: "true"; their first access key is in the secret seriatim-first-key.
# To apply it again, first: kubectl --namespace seriatim delete job seriatim-secrets
# docs/operate/kubernetes.md says how to go on from here.
#
# Rendered from deploy/helm/seriatim by make chart; change it there.
`

// TestManifests checks that the manifests are the output of the chart, and as safe.
func TestManifests(t *testing.T) {
	text, err := render("seriatim", "seriatim", "")
	if err != nil {
		t.Fatal(err)
	}
	same(t, manifestFile, manifestHead+text)
	found, err := decode(text)
	if err != nil {
		t.Fatal(err)
	}
	release{t: t, objects: found, name: "seriatim", namespace: "seriatim"}.check()
}

// copies are files of the chart that are kept elsewhere, because helm reads only files in the
// chart.
var copies = map[string]string{
	"alerts.yaml":    "../../../deploy/prometheus/alerts.yaml",
	"dashboard.json": "../../../deploy/grafana/seriatim.json",
}

// TestCopies checks that the alerts and the dashboard of the chart equal those of deploy.
func TestCopies(t *testing.T) {
	for name, origin := range copies {
		text, err := os.ReadFile(origin)
		if err != nil {
			t.Fatal(err)
		}
		same(t, filepath.Join(chartFolder, "files", name), string(text))
	}
}

// same compares a file with the wanted content, or writes it.
func same(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what it is made from: make chart (%v)", path, err)
	}
}
