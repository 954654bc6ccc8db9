package chart

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
)

// checkServices checks that nodes find each other before they are ready, and that clients find only
// ready nodes.
func (r release) checkServices(set *apps.StatefulSet) {
	r.t.Helper()
	nodes, clients := find[*core.Service](r.objects, "Service", set.Spec.ServiceName), find[*core.Service](r.objects, "Service", r.name)
	if nodes == nil || nodes.Spec.ClusterIP != core.ClusterIPNone || !nodes.Spec.PublishNotReadyAddresses {
		r.t.Errorf("the service of the nodes is %+v", nodes)
	}
	if clients == nil || clients.Spec.ClusterIP == core.ClusterIPNone || clients.Spec.PublishNotReadyAddresses ||
		len(clients.Spec.Ports) != 1 {
		r.t.Errorf("the service for clients is %+v", clients)
	}
	ports := map[string]int32{}
	for _, p := range set.Spec.Template.Spec.Containers[0].Ports {
		ports[p.Name] = p.ContainerPort
	}
	for _, service := range []*core.Service{nodes, clients} {
		if !maps.Equal(service.Spec.Selector, set.Spec.Selector.MatchLabels) {
			r.t.Errorf("%s selects %v", service.Name, service.Spec.Selector)
		}
		for _, p := range service.Spec.Ports {
			if ports[p.TargetPort.String()] != p.Port {
				r.t.Errorf("%s: port %d leads to %s", service.Name, p.Port, p.TargetPort.String())
			}
		}
		if dual := r.has("DualStack"); dual != (service.Spec.IPFamilyPolicy != nil) {
			r.t.Errorf("%s is %v", service.Name, service.Spec.IPFamilyPolicy)
		}
	}
	advertised := ""
	for _, v := range set.Spec.Template.Spec.Containers[0].Env {
		if v.Name == "SERIATIM_ADVERTISE_GOSSIP" {
			advertised = v.Value
		}
	}
	want := "$(POD_IP):9327"
	if len(nodes.Spec.IPFamilies) > 0 && nodes.Spec.IPFamilies[0] == core.IPv6Protocol {
		want = "[$(POD_IP)]:9327"
	}
	if advertised != want {
		r.t.Errorf("gossip is advertised as %s", advertised)
	}
}

// checkBudget checks that one node at a time may be evicted, and that a single node can be.
func (r release) checkBudget(set *apps.StatefulSet) {
	r.t.Helper()
	budget := find[*policy.PodDisruptionBudget](r.objects, "PodDisruptionBudget", r.name)
	if *set.Spec.Replicas == 1 {
		if budget != nil {
			r.t.Error("one replica with a budget cannot be drained")
		}
		return
	}
	if budget == nil || budget.Spec.MaxUnavailable == nil || budget.Spec.MaxUnavailable.IntValue() != 1 ||
		!maps.Equal(budget.Spec.Selector.MatchLabels, set.Spec.Selector.MatchLabels) {
		r.t.Errorf("the budget is %+v", budget)
	}
}

// checkNetwork checks that each port is open only to its callers.
func (r release) checkNetwork(set *apps.StatefulSet) {
	r.t.Helper()
	p := find[*networking.NetworkPolicy](r.objects, "NetworkPolicy", r.name)
	if r.has("networkPolicy: {enabled: false}") {
		if p != nil {
			r.t.Error("there is a policy")
		}
		return
	}
	if p == nil || !slices.Equal(p.Spec.PolicyTypes, []networking.PolicyType{networking.PolicyTypeIngress}) ||
		!maps.Equal(p.Spec.PodSelector.MatchLabels, set.Spec.Selector.MatchLabels) {
		r.t.Fatalf("the policy is %+v", p)
	}
	open := map[string][]string{}
	for _, rule := range p.Spec.Ingress {
		if len(rule.From) == 0 || len(rule.Ports) == 0 {
			r.t.Errorf("open to everybody: %+v", rule)
		}
		for _, from := range rule.From {
			if from.PodSelector == nil || len(from.PodSelector.MatchLabels) == 0 {
				r.t.Errorf("open to whole namespaces: %+v", from)
				continue
			}
			for _, port := range rule.Ports {
				who := from.PodSelector.MatchLabels["app.kubernetes.io/component"]
				switch {
				case from.PodSelector.MatchLabels["seriatim-client"] != "":
					who = "client"
				case from.PodSelector.MatchLabels["app.kubernetes.io/name"] == "prometheus":
					who = "prometheus"
				}
				open[port.Port.String()] = append(open[port.Port.String()], who)
			}
		}
	}
	want := map[string][]string{"client": {"client"}, "admin": {"prometheus", "operator", "node"}, "peer": {"node"}, "gossip-tcp": {"node"},
		"gossip-udp": {"node"}}
	if r.has("clients: []") {
		delete(want, "client")
		want["admin"] = []string{"operator", "node"}
	}
	if got, want := fmt.Sprint(open), fmt.Sprint(want); got != want {
		r.t.Errorf("open are %s, want %s", got, want)
	}
}

// checkSecrets checks that the job which makes secrets has only the permissions for this.
func (r release) checkSecrets() {
	r.t.Helper()
	role, job := find[*rbac.Role](r.objects, "Role", r.name+"-secrets"), find[*batch.Job](r.objects, "Job", r.name+"-secrets")
	renewal := find[*batch.CronJob](r.objects, "CronJob", r.name+"-certificates")
	if r.has("mode: existing") {
		if role != nil || job != nil || renewal != nil {
			r.t.Error("secrets that exist are made")
		}
		return
	}
	if role == nil || job == nil || (renewal == nil) != r.has("mode: certManager") {
		r.t.Fatalf("role %v, job %v, renewal %v", role, job, renewal)
	}
	for _, rule := range role.Rules {
		limited := len(rule.ResourceNames) > 0 && !slices.Contains(rule.Verbs, "list") && !slices.Contains(rule.Verbs, "delete")
		if !slices.Equal(rule.Resources, []string{"secrets"}) || !limited && !slices.Equal(rule.Verbs, []string{"create"}) {
			r.t.Errorf("it may %+v", rule)
		}
	}
	args := job.Spec.Template.Spec.Containers[0].Args
	if !slices.Equal(args[:4], []string{"cert", "bundle", "--kubernetes", r.name}) ||
		slices.Contains(args, "--without-certificates") != r.has("mode: certManager") {
		r.t.Errorf("it runs %q", args)
	}
	if !r.has("mode: certManager") && !slices.Contains(args, r.name+"."+cmp.Or(r.namespace, namespace)+".svc") {
		r.t.Errorf("the certificate has no name for clients: %q", args)
	}
	if r.has("queues.example.org") && !slices.Contains(args, "queues.example.org") {
		r.t.Errorf("the certificate lacks a name: %q", args)
	}
}

// checkCertificates checks that cert-manager signs only with this cluster's authority.
func (r release) checkCertificates() {
	r.t.Helper()
	nodes := find[*certmanager.Certificate](r.objects, "Certificate", r.name+"-nodes")
	if !r.has("mode: certManager") {
		if nodes != nil {
			r.t.Error("cert-manager is asked")
		}
		return
	}
	authority, issuer := find[*certmanager.Certificate](r.objects, "Certificate", r.name+"-authority"),
		find[*certmanager.Issuer](r.objects, "Issuer", r.name)
	if nodes == nil || authority == nil || issuer == nil || issuer.Spec.CA == nil ||
		issuer.Spec.CA.SecretName != authority.Spec.SecretName || !authority.Spec.IsCA ||
		nodes.Spec.IssuerRef.Name != issuer.Name || nodes.Spec.SecretName != r.name+"-nodes" ||
		!slices.Contains(nodes.Spec.DNSNames, "*."+r.name+"-nodes") {
		r.t.Errorf("nodes %+v, authority %+v, issuer %+v", nodes, authority, issuer)
	}
}

// checkMonitoring checks that each node is scraped, with a token that can only read.
func (r release) checkMonitoring() {
	r.t.Helper()
	monitor := find[*monitoring.ServiceMonitor](r.objects, "ServiceMonitor", r.name)
	rules := find[*monitoring.PrometheusRule](r.objects, "PrometheusRule", r.name)
	dashboard := find[*core.ConfigMap](r.objects, "ConfigMap", r.name+"-dashboard")
	if !r.has("serviceMonitor") {
		if monitor != nil || rules != nil || dashboard != nil {
			r.t.Error("monitoring that nobody asked for")
		}
		return
	}
	if monitor == nil || rules == nil || dashboard == nil || len(monitor.Spec.Endpoints) != 1 || len(rules.Spec.Groups) == 0 ||
		len(dashboard.Data["seriatim.json"]) < 2 {
		r.t.Fatalf("monitor %v, rules %v, dashboard %v", monitor, rules, dashboard)
	}
	endpoint := monitor.Spec.Endpoints[0]
	if endpoint.Port != "admin" || endpoint.Authorization == nil || endpoint.Authorization.Credentials.Key != "prometheus.token" ||
		(endpoint.TLSConfig == nil) != r.has("admin: false") {
		r.t.Errorf("asked is %+v", endpoint)
	}
	selected := 0
	for _, object := range r.objects {
		if service, ok := object.(*core.Service); ok && contains(service.Labels, monitor.Spec.Selector.MatchLabels) {
			selected++
		}
	}
	if selected != 1 {
		r.t.Errorf("it selects %d services", selected)
	}
}

// checkTracing checks that spans are sent only to a configured endpoint.
func (r release) checkTracing() {
	r.t.Helper()
	settings := r.settings()
	want := map[string]any{"otlp-endpoint": nil, "trace-ratio": nil}
	if r.has("tracing: {endpoint") {
		want = map[string]any{"otlp-endpoint": "http://collector.monitoring:4318", "trace-ratio": 0.25}
	}
	for name, value := range want {
		if settings[name] != value {
			r.t.Errorf("the setting %s is %v, not %v", name, settings[name], value)
		}
	}
}

func contains(labels, wanted map[string]string) bool {
	for key, value := range wanted {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// checkBackup checks that one job at a time writes a backup and then uploads the file.
func (r release) checkBackup() {
	r.t.Helper()
	backup := find[*batch.CronJob](r.objects, "CronJob", r.name+"-backup")
	if !r.has("backup: {enabled: true") {
		if backup != nil {
			r.t.Error("backups that nobody asked for")
		}
		return
	}
	if backup == nil || backup.Spec.ConcurrencyPolicy != batch.ForbidConcurrent ||
		backup.Spec.JobTemplate.Spec.ActiveDeadlineSeconds == nil {
		r.t.Fatalf("the backup is %+v", backup)
	}
	pod := backup.Spec.JobTemplate.Spec.Template.Spec
	if len(pod.InitContainers) != 1 || len(pod.Containers) != 1 {
		r.t.Fatalf("the pod is %+v", pod)
	}
	create, upload := pod.InitContainers[0], pod.Containers[0]
	if !slices.Equal(create.Args[:5], []string{"backup", "create", "--force", "--file", "/backup/seriatim.backup"}) {
		r.t.Errorf("it runs %q", create.Args)
	}
	if upload.Image != "rclone/rclone" || len(upload.Command) != 4 || upload.Command[2] != create.Args[4] {
		r.t.Errorf("the upload is %s with %q", upload.Image, upload.Command)
	}
	if len(upload.EnvFrom) != 1 || upload.EnvFrom[0].SecretRef == nil || upload.EnvFrom[0].SecretRef.Name != "s3" || len(upload.Env) != 2 {
		r.t.Errorf("its environment is %+v and %+v", upload.Env, upload.EnvFrom)
	}
	for _, c := range []core.Container{create, upload} {
		shares := slices.ContainsFunc(c.VolumeMounts,
			func(m core.VolumeMount) bool { return m.Name == "backup" && m.MountPath == "/backup" })
		if !shares {
			r.t.Errorf("%s does not mount the volume of the backup", c.Name)
		}
	}
	if slices.ContainsFunc(upload.VolumeMounts, func(m core.VolumeMount) bool { return m.Name == "admin" }) {
		r.t.Error("the upload can read the token of the admin port")
	}
}
