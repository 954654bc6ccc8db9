package chart

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

type jobType = *batch.Job

// release is one rendering of the chart.
type release struct {
	t       *testing.T
	objects objects
	name    string
	values  string // empty: those of the matrix

	namespace string // empty: that of the tests
}

// has reports whether the values contain a text.
func (r release) has(part string) bool { return strings.Contains(r.values, part) }

func (r release) check() {
	r.t.Helper()
	for key, object := range r.objects {
		if object.GetNamespace() != cmp.Or(r.namespace, namespace) {
			r.t.Errorf("%s is in the namespace %q", key, object.GetNamespace())
		}
	}
	set := find[*apps.StatefulSet](r.objects, "StatefulSet", r.name)
	if set == nil || len(set.Spec.Template.Spec.Containers) != 1 {
		r.t.Fatalf("the set is %+v", set)
	}
	r.checkSet(set)
	r.checkPods(set)
	r.checkStop(set)
	r.checkMemory(set)
	r.checkVolumes(set)
	r.checkServices(set)
	r.checkBudget(set)
	r.checkNetwork(set)
	r.checkSecrets()
	r.checkCertificates()
	r.checkMonitoring()
	r.checkTracing()
	r.checkBackup()
}

// settings returns the configuration of the nodes.
func (r release) settings() map[string]any {
	r.t.Helper()
	configuration := find[*core.ConfigMap](r.objects, "ConfigMap", r.name)
	settings := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(configuration.Data["seriatim.yaml"]), &settings); err != nil {
		r.t.Fatal(err)
	}
	return settings
}

// checkSet checks that all pods start together, and that no disk is deleted automatically.
func (r release) checkSet(set *apps.StatefulSet) {
	r.t.Helper()
	spec := set.Spec
	if spec.PodManagementPolicy != apps.ParallelPodManagement {
		r.t.Error("pods that are started one by one never become ready")
	}
	if u := spec.UpdateStrategy; u.Type != apps.RollingUpdateStatefulSetStrategyType || u.RollingUpdate == nil ||
		u.RollingUpdate.Partition == nil {
		r.t.Errorf("updates are %+v", u)
	}
	if p := spec.PersistentVolumeClaimRetentionPolicy; p == nil || p.WhenDeleted != apps.RetainPersistentVolumeClaimRetentionPolicyType ||
		p.WhenScaled != apps.RetainPersistentVolumeClaimRetentionPolicyType {
		r.t.Errorf("disks are kept as %+v", p)
	}
	for key, value := range spec.Selector.MatchLabels {
		if spec.Template.Labels[key] != value {
			r.t.Errorf("the pods lack the label %s=%s", key, value)
		}
	}
	replicas := int(*spec.Replicas)
	settings := r.settings()
	join, _ := settings["join"].([]any)
	if settings["bootstrap-expect"] != float64(replicas) || settings["voters"] != float64(replicas) || len(join) != replicas {
		r.t.Errorf("%d replicas, settings %v", replicas, settings)
	}
	for i, address := range join {
		if address != fmt.Sprintf("%s-%d.%s:9327", r.name, i, spec.ServiceName) {
			r.t.Errorf("node %d is sought at %v", i, address)
		}
	}
	if settings["auth"] != !r.has("auth: false") {
		r.t.Errorf("auth is %v", settings["auth"])
	}
}

// pods returns all pod templates.
func (r release) pods() map[string]core.PodTemplateSpec {
	list := map[string]core.PodTemplateSpec{}
	for key, object := range r.objects {
		switch o := object.(type) {
		case *apps.StatefulSet:
			list[key] = o.Spec.Template
		case *batch.Job:
			list[key] = o.Spec.Template
		case *batch.CronJob:
			list[key] = o.Spec.JobTemplate.Spec.Template
		}
	}
	return list
}

// checkPods checks that no pod has unnecessary permissions, and that no two voters share a host.
func (r release) checkPods(set *apps.StatefulSet) {
	r.t.Helper()
	for key, template := range r.pods() {
		pod := template.Spec
		s := pod.SecurityContext
		if s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || s.RunAsUser == nil || *s.RunAsUser == 0 || s.SeccompProfile == nil ||
			s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
			r.t.Errorf("%s runs as %+v", key, s)
		}
		account := pod.AutomountServiceAccountToken
		if wanted := pod.ServiceAccountName != ""; account == nil || *account != wanted {
			r.t.Errorf("%s has the token of %q: %v", key, pod.ServiceAccountName, account)
		}
		for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
			s := c.SecurityContext
			if s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem || s.AllowPrivilegeEscalation == nil ||
				*s.AllowPrivilegeEscalation ||
				s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) || len(s.Capabilities.Add) != 0 {
				r.t.Errorf("%s: %s may %+v", key, c.Name, s)
			}
			if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
				r.t.Errorf("%s: %s takes %+v", key, c.Name, c.Resources)
			}
			if strings.Contains(strings.Join(c.Command, " "), "/bin/") {
				r.t.Errorf("%s: %s runs %q, and the image has nothing but the program", key, c.Name, c.Command)
			}
			if r.has("sha256") != strings.Contains(c.Image, "@sha256:") {
				r.t.Errorf("%s: %s is of the image %s", key, c.Name, c.Image)
			}
		}
	}
	spread := set.Spec.Template.Spec
	apart := spread.Affinity.PodAntiAffinity
	required := apart.RequiredDuringSchedulingIgnoredDuringExecution
	if preferred := r.has("hosts: preferred"); !preferred &&
		(len(required) != 1 || required[0].TopologyKey != "kubernetes.io/hostname" ||
			!maps.Equal(required[0].LabelSelector.MatchLabels, set.Spec.Selector.MatchLabels)) ||
		preferred && len(apart.PreferredDuringSchedulingIgnoredDuringExecution) != 1 {
		r.t.Errorf("nodes are kept apart by %+v", apart)
	}
	zones := spread.TopologySpreadConstraints
	switch {
	case r.has("zones: 'off'"):
		if len(zones) != 0 {
			r.t.Errorf("zones: %+v", zones)
		}
	case len(zones) != 1 || !maps.Equal(zones[0].LabelSelector.MatchLabels, set.Spec.Selector.MatchLabels):
		r.t.Errorf("zones: %+v", zones)
	case r.has("zones: required"):
		if want := min(3, *set.Spec.Replicas); zones[0].WhenUnsatisfiable != core.DoNotSchedule || zones[0].MinDomains == nil ||
			*zones[0].MinDomains != want {
			r.t.Errorf("zones: %+v", zones[0])
		}
	case zones[0].WhenUnsatisfiable != core.ScheduleAnyway || zones[0].MinDomains != nil:
		r.t.Errorf("zones: %+v", zones[0])
	}
}

// checkStop checks that each probe asks the endpoint for it, and that a stopping node has enough
// time to hand over.
func (r release) checkStop(set *apps.StatefulSet) {
	r.t.Helper()
	c := set.Spec.Template.Spec.Containers[0]
	scheme := core.URISchemeHTTPS
	if r.has("admin: false") {
		scheme = core.URISchemeHTTP
	}
	for path, probe := range map[string]*core.Probe{"/livez": c.LivenessProbe, "/readyz": c.ReadinessProbe, "/startupz": c.StartupProbe} {
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != path || probe.HTTPGet.Port.String() != "admin" ||
			probe.HTTPGet.Scheme != scheme {
			r.t.Errorf("the probe for %s is %+v", path, probe)
		}
	}
	if c.StartupProbe.PeriodSeconds*c.StartupProbe.FailureThreshold < 600 {
		r.t.Error("reading a large state may take ten minutes")
	}
	command := c.Lifecycle.PreStop.Exec.Command
	if len(command) < 5 || !slices.Equal(command[:4], []string{"seriatim", "cluster", "drain", "--wait"}) {
		r.t.Fatalf("before the stop %q is run", command)
	}
	wait, err := strconv.Atoi(strings.TrimSuffix(command[4], "s"))
	notReady := int(c.ReadinessProbe.PeriodSeconds * c.ReadinessProbe.FailureThreshold)
	if grace := int(*set.Spec.Template.Spec.TerminationGracePeriodSeconds); err != nil || wait < notReady || wait+30 > grace {
		r.t.Errorf("it waits for %s; not ready is heard after %d s, and after %d s it is killed", command[4], notReady, grace)
	}
	if address := command[slices.Index(command, "--admin")+1]; address != strings.ToLower(string(scheme))+"://localhost:9325" {
		r.t.Errorf("it asks %s", address)
	}
}

// checkMemory checks that the state's limit is below GOMEMLIMIT, and that below the pod's limit.
func (r release) checkMemory(set *apps.StatefulSet) {
	r.t.Helper()
	c := set.Spec.Template.Spec.Containers[0]
	limit := c.Resources.Limits.Memory().Value() >> 20
	mebibytes := func(text any) int64 {
		n, err := strconv.ParseInt(strings.TrimSuffix(fmt.Sprint(text), "MiB"), 10, 64)
		if err != nil {
			r.t.Error(err)
		}
		return n
	}
	aim := int64(0)
	for _, v := range c.Env {
		if v.Name == "GOMEMLIMIT" {
			aim = mebibytes(v.Value)
		}
	}
	// Besides the state: requests, proposals and the log cache, with their default sizes.
	const beside = 256 + 64 + 32
	if state := mebibytes(r.settings()["state-bytes-max"]); state == 0 || state+beside > aim || aim > limit*9/10 {
		r.t.Errorf("state %d, aim %d, limit %d MiB", state, aim, limit)
	}
	if asked := c.Resources.Requests.Memory().Value() >> 20; asked > limit {
		r.t.Errorf("asked for are %d MiB, the limit is %d", asked, limit)
	}
}

// checkVolumes checks that each mounted volume exists, that each file named in a setting is
// mounted, and that secrets are readable only for their user.
func (r release) checkVolumes(set *apps.StatefulSet) {
	r.t.Helper()
	for key, template := range r.pods() {
		files := map[string]map[string]bool{} // by volume
		for _, v := range template.Spec.Volumes {
			files[v.Name] = volumeFiles(r.t, key, v)
		}
		if key == "StatefulSet "+r.name {
			files["data"] = nil
		}
		for _, c := range slices.Concat(template.Spec.InitContainers, template.Spec.Containers) {
			mounted := map[string]map[string]bool{}
			for _, m := range c.VolumeMounts {
				content, there := files[m.Name]
				if !there || m.ReadOnly != (m.Name != "data") {
					r.t.Errorf("%s: %+v", key, m)
				}
				mounted[m.MountPath] = content
			}
			for _, path := range append(named(r, key), slices.Concat(c.Command, c.Args)...) {
				i := strings.LastIndex(path, "/")
				if !strings.HasPrefix(path, "/etc/seriatim") {
					continue
				}
				if content, whole := mounted[path]; whole && len(content) == 0 {
					continue // a folder
				}
				if !mounted[path[:i]][path[i+1:]] {
					r.t.Errorf("%s names %s, mounted are %v", key, path, mounted)
				}
			}
		}
	}
	claims := set.Spec.VolumeClaimTemplates
	if len(claims) != 1 || claims[0].Name != "data" || claims[0].Spec.Resources.Requests.Storage().IsZero() {
		r.t.Errorf("disks are %+v", claims)
	}
}

// named returns the files that settings name, for the pods that read them.
func named(r release, key string) []string {
	var paths []string
	if key == "StatefulSet "+r.name {
		for _, value := range r.settings() {
			if path, ok := value.(string); ok {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// volumeFiles returns the files of a volume, as far as its definition tells.
func volumeFiles(t *testing.T, key string, v core.Volume) map[string]bool {
	t.Helper()
	files := map[string]bool{}
	add := func(items []core.KeyToPath) {
		for _, item := range items {
			files[item.Path] = true
		}
	}
	mode := func(mode *int32) {
		if mode == nil || *mode != 0o440 {
			t.Errorf("%s: %s may be read by others: %v", key, v.Name, mode)
		}
	}
	switch {
	case v.ConfigMap != nil:
		files["seriatim.yaml"] = true
	case v.Secret != nil:
		mode(v.Secret.DefaultMode)
		add(v.Secret.Items)
		if v.Name == "client" {
			add([]core.KeyToPath{{Path: "tls.crt"}, {Path: "tls.key"}})
		}
	case v.Projected != nil:
		mode(v.Projected.DefaultMode)
		for _, source := range v.Projected.Sources {
			add(source.Secret.Items)
		}
	default:
		t.Errorf("%s: what is %+v", key, v)
	}
	return files
}
