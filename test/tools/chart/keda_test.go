package chart

import (
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	keda "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	core "k8s.io/api/core/v1"
)

const kedaFile = "../../../deploy/keda/scaledobject.yaml"

// scalerValues contains the values of KEDA's SQS scaler with their checks. They are the tags of its
// type awsSqsQueueMetadata, whose package needs the SDKs of all clouds. The scaler ignores unknown
// values without an error.
var scalerValues = map[string]func(string) error{
	"queueLength": wholeNumber, "activationQueueLength": wholeNumber, "scaleOnInFlight": truth, "scaleOnDelayed": truth,
	"queueURL": address, "awsEndpoint": address, "awsRegion": anything, "identityOwner": anything,
}

func wholeNumber(text string) error {
	_, err := strconv.ParseInt(text, 10, 64)
	return err
}

func truth(text string) error {
	_, err := strconv.ParseBool(text)
	return err
}

func address(text string) error {
	_, err := url.ParseRequestURI(text)
	return err
}

func anything(string) error { return nil }

// TestKEDA checks that KEDA knows the example's values, that its parts refer to one another, and
// that it asks the service of the manifests about a queue in the cluster's own account, with a key.
func TestKEDA(t *testing.T) {
	text, err := os.ReadFile(kedaFile)
	if err != nil {
		t.Fatal(err)
	}
	found, err := decode(string(text))
	if err != nil {
		t.Fatal(err)
	}
	scaled := find[*keda.ScaledObject](found, "ScaledObject", "orders")
	if scaled == nil || scaled.Spec.ScaleTargetRef == nil || scaled.Spec.ScaleTargetRef.Name == "" || len(scaled.Spec.Triggers) != 1 {
		t.Fatalf("the scaled object is %+v", scaled)
	}
	trigger := scaled.Spec.Triggers[0]
	if trigger.Type != "aws-sqs-queue" || trigger.AuthenticationRef == nil {
		t.Fatalf("the trigger is %+v", trigger)
	}
	for name, value := range trigger.Metadata {
		check, known := scalerValues[name]
		if !known {
			t.Errorf("the scaler knows no %s", name)
		} else if err := check(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	checkKEDAService(t, trigger.Metadata["awsEndpoint"])
	if want := trigger.Metadata["awsEndpoint"] + "/000000000000/"; !strings.HasPrefix(trigger.Metadata["queueURL"], want) {
		t.Errorf("the queue is %s, want one below %s", trigger.Metadata["queueURL"], want)
	}
	authentication := find[*keda.TriggerAuthentication](found, "TriggerAuthentication", trigger.AuthenticationRef.Name)
	if authentication == nil {
		t.Fatalf("there is no authentication %s", trigger.AuthenticationRef.Name)
	}
	var given []string
	for _, one := range authentication.Spec.SecretTargetRef {
		if one.Name == "" || one.Key == "" {
			t.Errorf("%s is read from %+v", one.Parameter, one)
		}
		given = append(given, one.Parameter)
	}
	if slices.Sort(given); !slices.Equal(given, []string{"awsAccessKeyID", "awsSecretAccessKey"}) {
		t.Errorf("given are %v", given)
	}
}

// checkKEDAService checks that the manifests contain the service of an address.
func checkKEDAService(t *testing.T, endpoint string) {
	t.Helper()
	manifests, err := os.ReadFile(manifestFile)
	if err != nil {
		t.Fatal(err)
	}
	found, err := decode(string(manifests))
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	name, domain, _ := strings.Cut(at.Hostname(), ".")
	service := find[*core.Service](found, "Service", name)
	if service == nil || domain != service.Namespace+".svc" || at.Port() != strconv.Itoa(int(service.Spec.Ports[0].Port)) {
		t.Errorf("the manifests have no service for %s: %+v", endpoint, service)
	}
}

// TestKEDARefuses checks that unknown values are found.
func TestKEDARefuses(t *testing.T) {
	text, err := os.ReadFile(kedaFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{{"minReplicaCount", "minimumReplicaCount"}, {"secretTargetRef", "secretRef"},
		{"kind: ScaledObject", "kind: ScaleObject"}} {
		wrong := strings.Replace(string(text), change[0], change[1], 1)
		if _, err := decode(wrong); err == nil || wrong == string(text) {
			t.Errorf("%s instead of %s is accepted", change[1], change[0])
		}
	}
}
