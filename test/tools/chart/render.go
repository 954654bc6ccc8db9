package chart

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	keda "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Folders of the repository.
const (
	chartFolder  = "../../../deploy/helm/seriatim"
	manifestFile = "../../../deploy/kubernetes/seriatim.yaml"
)

// kinds are the types into which the chart's objects are decoded.
var kinds = map[string]func() meta.Object{
	"v1/Service":                               func() meta.Object { return &core.Service{} },
	"v1/ConfigMap":                             func() meta.Object { return &core.ConfigMap{} },
	"v1/ServiceAccount":                        func() meta.Object { return &core.ServiceAccount{} },
	"apps/v1/StatefulSet":                      func() meta.Object { return &apps.StatefulSet{} },
	"batch/v1/Job":                             func() meta.Object { return &batch.Job{} },
	"batch/v1/CronJob":                         func() meta.Object { return &batch.CronJob{} },
	"policy/v1/PodDisruptionBudget":            func() meta.Object { return &policy.PodDisruptionBudget{} },
	"networking.k8s.io/v1/NetworkPolicy":       func() meta.Object { return &networking.NetworkPolicy{} },
	"rbac.authorization.k8s.io/v1/Role":        func() meta.Object { return &rbac.Role{} },
	"rbac.authorization.k8s.io/v1/RoleBinding": func() meta.Object { return &rbac.RoleBinding{} },
	"cert-manager.io/v1/Issuer":                func() meta.Object { return &certmanager.Issuer{} },
	"cert-manager.io/v1/Certificate":           func() meta.Object { return &certmanager.Certificate{} },
	"monitoring.coreos.com/v1/ServiceMonitor":  func() meta.Object { return &monitoring.ServiceMonitor{} },
	"monitoring.coreos.com/v1/PrometheusRule":  func() meta.Object { return &monitoring.PrometheusRule{} },
	"keda.sh/v1alpha1/ScaledObject":            func() meta.Object { return &keda.ScaledObject{} },
	"keda.sh/v1alpha1/TriggerAuthentication":   func() meta.Object { return &keda.TriggerAuthentication{} },
}

// objects contains the rendered objects by kind and name.
type objects map[string]meta.Object

// find returns the object with a kind and name, or nil.
func find[T meta.Object](o objects, kind, name string) T {
	found, _ := o[kind+" "+name].(T)
	return found
}

// load reads the chart.
func load() (*chart.Chart, error) { return loader.Load(chartFolder) }

// render renders the chart like helm template, with YAML values over the defaults, and checks the
// values against the schema.
func render(release, namespace, values string) (string, error) {
	c, err := load()
	if err != nil {
		return "", err
	}
	given := map[string]any{}
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		return "", err
	}
	options := chartutil.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}
	ready, err := chartutil.ToRenderValues(c, given, options, chartutil.DefaultCapabilities)
	if err != nil {
		return "", err
	}
	texts, err := engine.Render(c, ready)
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if path.Ext(name) == ".yaml" && strings.TrimSpace(texts[name]) != "" {
			fmt.Fprintf(&all, "---\n%s\n", strings.TrimSpace(texts[name]))
		}
	}
	return all.String(), nil
}

// decode decodes the rendered objects. An unknown field is an error.
func decode(text string) (objects, error) {
	found := objects{}
	for document := range strings.SplitSeq("\n"+text, "\n---") {
		if len(bytes.TrimSpace(withoutComments(document))) == 0 {
			continue
		}
		var head meta.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &head); err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, document)
		}
		make, known := kinds[head.APIVersion+"/"+head.Kind]
		if !known {
			return nil, fmt.Errorf("there is no type for %s %s", head.APIVersion, head.Kind)
		}
		object := make()
		if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
			return nil, fmt.Errorf("%s: %w in\n%s", head.Kind, err, document)
		}
		key := head.Kind + " " + object.GetName()
		if found[key] != nil {
			return nil, fmt.Errorf("%s is there twice", key)
		}
		found[key] = object
	}
	if len(found) == 0 {
		return nil, fs.ErrNotExist
	}
	return found, nil
}

// withoutComments removes the lines that are comments.
func withoutComments(document string) []byte {
	var kept []byte
	for line := range strings.Lines(document) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			kept = append(kept, line...)
		}
	}
	return kept
}
