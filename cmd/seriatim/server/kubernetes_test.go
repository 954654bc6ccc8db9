package server

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/seriatimq/seriatim/cmd/seriatim/client"
)

// object is the part of a Kubernetes object that the tests read.
type object struct {
	Kind     string
	Metadata struct {
		Name   string
		Labels map[string]string
	}
	Data map[string]string
	Spec struct {
		ClusterIP                string `yaml:"clusterIP"`
		PublishNotReadyAddresses bool   `yaml:"publishNotReadyAddresses"`
		ServiceName              string `yaml:"serviceName"`
		PodManagementPolicy      string `yaml:"podManagementPolicy"`
		Replicas                 int
		MaxUnavailable           int       `yaml:"maxUnavailable"`
		Selector                 yaml.Node // a map of labels, or one below matchLabels
		Ports                    []struct {
			Port       int
			TargetPort string `yaml:"targetPort"`
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     podSpec
		}
		VolumeClaimTemplates []struct{ Metadata struct{ Name string } } `yaml:"volumeClaimTemplates"`
	}
}

type podSpec struct {
	TerminationGracePeriodSeconds int `yaml:"terminationGracePeriodSeconds"`
	Affinity                      struct {
		PodAntiAffinity struct {
			Required []struct {
				TopologyKey string `yaml:"topologyKey"`
			} `yaml:"requiredDuringSchedulingIgnoredDuringExecution"`
		} `yaml:"podAntiAffinity"`
	}
	Containers []container
	Volumes    []struct {
		Name      string
		ConfigMap struct{ Name string } `yaml:"configMap"`
		Secret    struct {
			SecretName  string `yaml:"secretName"`
			DefaultMode int    `yaml:"defaultMode"`
		}
	}
}

type container struct {
	Args []string
	Env  []struct {
		Name, Value string
		ValueFrom   struct {
			FieldRef struct {
				FieldPath string `yaml:"fieldPath"`
			} `yaml:"fieldRef"`
		} `yaml:"valueFrom"`
	}
	Ports []struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
		Protocol      string
	}
	StartupProbe   probe `yaml:"startupProbe"`
	ReadinessProbe probe `yaml:"readinessProbe"`
	LivenessProbe  probe `yaml:"livenessProbe"`
	Lifecycle      struct {
		PreStop struct{ Exec struct{ Command []string } } `yaml:"preStop"`
	}
	Resources struct {
		Limits struct{ Memory string }
	}
	VolumeMounts []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

// manifest reads the objects of the sample by kind and name.
func manifest(t *testing.T) map[string]object {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/kubernetes/seriatim.yaml")
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]object{}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var o object
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		if o.Kind != "" {
			objects[o.Kind+" "+o.Metadata.Name] = o
		}
	}
}

// podOf holds the fields of the second pod for its environment.
var podOf = map[string]string{"metadata.name": "seriatim-1", "status.podIP": "10.1.2.3"}

// environmentOf returns the environment of the container, as the kubelet makes it.
func environmentOf(t *testing.T, c container) []string {
	t.Helper()
	var environ []string
	known := map[string]string{}
	for _, v := range c.Env {
		value := v.Value
		if path := v.ValueFrom.FieldRef.FieldPath; path != "" {
			if value = podOf[path]; value == "" {
				t.Errorf("%s is taken from %s", v.Name, path)
			}
		}
		for name, of := range known {
			value = strings.ReplaceAll(value, "$("+name+")", of)
		}
		known[v.Name] = value
		environ = append(environ, v.Name+"="+value)
	}
	return environ
}

// TestKubernetesSample: the program accepts the settings in the manifests, and ports, paths and
// names agree.
func TestKubernetesSample(t *testing.T) {
	objects := manifest(t)
	set := objects["StatefulSet seriatim"]
	pod := set.Spec.Template.Spec
	if len(pod.Containers) != 1 {
		t.Fatalf("the objects are %v", slices.Collect(maps.Keys(objects)))
	}
	c := pod.Containers[0]
	cfg := sampleConfig(t, objects, c)
	if cfg.Node.Name != "seriatim-1" || cfg.Listen.AdvertisePeer != "seriatim-1.seriatim-nodes:9326" ||
		cfg.Listen.AdvertiseGossip != "10.1.2.3:9327" {
		t.Errorf("the second pod is %+v, %+v", cfg.Node, cfg.Listen)
	}
	if cfg.Node.BootstrapExpect != set.Spec.Replicas || len(cfg.Node.Join) != set.Spec.Replicas || cfg.Node.GossipKeyFile == "" {
		t.Errorf("%d replicas, settings %+v", set.Spec.Replicas, cfg.Node)
	}
	if set.Spec.PodManagementPolicy != "Parallel" {
		t.Error("pods that are started one by one never become ready")
	}
	if grace := time.Duration(pod.TerminationGracePeriodSeconds) * time.Second; grace < 2*cfg.Timing.Shutdown {
		t.Errorf("a pod has %v to stop, its node takes up to %v", grace, cfg.Timing.Shutdown)
	}
	ports := map[string]int{}
	for _, p := range c.Ports {
		ports[p.Name] = p.ContainerPort
	}
	for name, address := range map[string]string{
		"client": cfg.Listen.Client, "admin": cfg.Listen.Admin, "peer": cfg.Listen.Peer, "gossip-tcp": cfg.Listen.Gossip,
		"gossip-udp": cfg.Listen.Gossip,
	} {
		if _, port, ok := strings.Cut(address, ":"); !ok || port != strconv.Itoa(ports[name]) {
			t.Errorf("port %s is %d, the node binds %s", name, ports[name], address)
		}
	}
	if live := c.LivenessProbe.HTTPGet; live.Path != "/livez" || live.Port != "admin" {
		t.Error("a liveness probe must be about the process alone")
	}
	// The startup probe must not wait for the other nodes.
	if start := c.StartupProbe.HTTPGet; start.Path != "/startupz" || start.Port != "admin" {
		t.Errorf("the startup probe asks %+v", start)
	}
	if ready := c.ReadinessProbe.HTTPGet; ready.Path != "/readyz" || ready.Port != "admin" {
		t.Errorf("the readiness probe asks %+v", ready)
	}
	if apart := pod.Affinity.PodAntiAffinity.Required; len(apart) != 1 || apart[0].TopologyKey != "kubernetes.io/hostname" {
		t.Errorf("two voters may share a host: %+v", apart)
	}
	checkMemory(t, c, cfg)
	checkServices(t, objects, set, ports)
	checkVolumes(t, set, cfg)
	checkPreStop(t, c.Lifecycle.PreStop.Exec.Command)
}

// checkMemory checks that state-bytes-max is below GOMEMLIMIT, and that below the limit of the
// pod. All pods hold the same state and would be killed together.
func checkMemory(t *testing.T, c container, cfg Config) {
	t.Helper()
	limit, err := parseSize(c.Resources.Limits.Memory + "B")
	if err != nil {
		t.Fatal(err)
	}
	aim := Size(0)
	for _, v := range c.Env {
		if v.Name == "GOMEMLIMIT" {
			if aim, err = parseSize(v.Value); err != nil {
				t.Fatal(err)
			}
		}
	}
	if state := cfg.Limits.StateBytes; state == 0 || state > aim*2/3 || aim > limit*9/10 {
		t.Errorf("state %v, aim %v, limit %v", state, aim, limit)
	}
}

// sampleConfig returns the configuration of the second pod.
func sampleConfig(t *testing.T, objects map[string]object, c container) Config {
	t.Helper()
	if !slices.Equal(c.Args, []string{"server", "--config", "/etc/seriatim/seriatim.yaml"}) {
		t.Errorf("the arguments are %q", c.Args)
	}
	path := filepath.Join(t.TempDir(), "seriatim.yaml")
	if err := os.WriteFile(path, []byte(objects["ConfigMap seriatim"].Data["seriatim.yaml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := fileLayer(path)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := load(file, environmentOf(t, c), layer{source: "no flags"})
	if err != nil {
		t.Fatal(err)
	}
	if err := cfg.validate(); err != nil {
		t.Error(err)
	}
	noKey := cfg
	noKey.Node.GossipKeyFile = "" // the secret is not here
	if _, err := (program{exit: func(int) {}}).clusterConfig(noKey, certificates{}); err != nil {
		t.Error(err)
	}
	return cfg
}

func checkServices(t *testing.T, objects map[string]object, set object, ports map[string]int) {
	t.Helper()
	nodes, clients := objects["Service seriatim-nodes"].Spec, objects["Service seriatim"].Spec
	if nodes.ClusterIP != "None" || !nodes.PublishNotReadyAddresses || set.Spec.ServiceName != "seriatim-nodes" {
		t.Error("nodes cannot find each other before they are ready")
	}
	if clients.ClusterIP != "" || clients.PublishNotReadyAddresses || len(clients.Ports) != 1 || clients.Ports[0].TargetPort != "client" {
		t.Error("clients reach more than the client port of nodes that are ready")
	}
	for _, p := range append(nodes.Ports, clients.Ports...) {
		if ports[p.TargetPort] != p.Port {
			t.Errorf("service port %d leads to %s, which is %d", p.Port, p.TargetPort, ports[p.TargetPort])
		}
	}
	if objects["PodDisruptionBudget seriatim"].Spec.MaxUnavailable != 1 {
		t.Error("more than one pod may be taken away at a time")
	}
	labels := set.Spec.Template.Metadata.Labels
	for _, name := range []string{"Service seriatim-nodes", "Service seriatim", "PodDisruptionBudget seriatim", "StatefulSet seriatim"} {
		selector := objects[name].Spec.Selector
		var plain map[string]string
		var nested struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		}
		if err := selector.Decode(&plain); err != nil {
			if err := selector.Decode(&nested); err != nil {
				t.Error(err)
			}
			plain = nested.MatchLabels
		}
		if len(plain) == 0 || !maps.Equal(plain, labels) {
			t.Errorf("%s selects %v, the pods have %v", name, plain, labels)
		}
	}
}

func checkVolumes(t *testing.T, set object, cfg Config) {
	t.Helper()
	volumes := map[string]bool{}
	for _, v := range set.Spec.Template.Spec.Volumes {
		volumes[v.Name] = true
		if v.Secret.SecretName != "" && v.Secret.DefaultMode != 0o440 {
			t.Errorf("the secret has the mode %o", v.Secret.DefaultMode)
		}
	}
	for _, claim := range set.Spec.VolumeClaimTemplates {
		volumes[claim.Metadata.Name] = true
	}
	mounted := map[string]string{}
	for _, m := range set.Spec.Template.Spec.Containers[0].VolumeMounts {
		mounted[m.MountPath] = m.Name
		if !volumes[m.Name] {
			t.Errorf("there is no volume %s", m.Name)
		}
	}
	if mounted[cfg.Node.DataDir] != "data" || mounted[filepath.Dir(cfg.Node.GossipKeyFile)] != "nodes" ||
		mounted[filepath.Dir(cfg.Listen.PeerKey)] != "nodes" || mounted[filepath.Dir(cfg.Listen.AdminTokens)] != "admin" ||
		mounted["/etc/seriatim"] != "config" {
		t.Errorf("mounted are %v", mounted)
	}
}

// checkPreStop makes sure that the command exists.
func checkPreStop(t *testing.T, command []string) {
	t.Helper()
	if len(command) < 3 || command[0] != "seriatim" {
		t.Fatalf("before a stop %q is run", command)
	}
	for _, c := range client.Commands() {
		if c.Name() != command[1] {
			continue
		}
		found, _, err := c.Find(command[2:])
		if err != nil || found == c || found.Flags().Lookup("admin") == nil && found.InheritedFlags().Lookup("admin") == nil {
			t.Errorf("%q is no command: %v", command, err)
		}
		return
	}
	t.Errorf("%q is no command", command)
}
