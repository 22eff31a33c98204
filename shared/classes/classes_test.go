package classes

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	ec2sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/cluster/clustertest"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/kubelet"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/identity"
	"github.com/whittle-dev/whittle/testdata/lab/ssm"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// controlPlane is shared by the package's tests. TestMain sets it before they run.
var controlPlane *clustertest.ControlPlane

func TestMain(m *testing.M) {
	os.Exit(clustertest.Run(m, func(started *clustertest.ControlPlane) error {
		controlPlane = started
		return started.Install(context.Background())
	}))
}

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// local returns a resolver for the local AWS, and a client with provision's rights.
func local(t *testing.T) (*Resolver, *cluster.Client) {
	t.Helper()
	people, err := identity.New("123456789012", "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	parameters := ssm.New("123456789012", "us-east-1")
	service, err := ec2.New(ec2.Config{AccountID: "123456789012", Region: "us-east-1", Parameters: parameters,
		InstanceProfiles: people})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Close() })
	service.RegisterCluster("prod", "1.36")
	server := wire.NewServer()
	for _, part := range []interface{ Register(*wire.Server) }{people, parameters, service} {
		part.Register(server)
	}
	url, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	operator := people.Operator()
	client, err := controlPlane.ClientOf("whittle:provision")
	if err != nil {
		t.Fatal(err)
	}
	client.Endpoint.Version = "1.36"
	return NewResolver(aws.Config{
		Region: "us-east-1", BaseEndpoint: &url,
		// The SDK may close a connection under a long answer; it tries again.
		Retryer:     func() aws.Retryer { return retry.AddWithMaxBackoffDelay(retry.NewStandard(), 5*time.Millisecond) },
		Credentials: credentials.NewStaticCredentialsProvider(operator.AccessKeyID, operator.SecretAccessKey, ""),
	}, "prod"), client
}

// stored creates a class in the cluster, or reads it.
func stored(t *testing.T, name string) api.EC2NodeClass {
	t.Helper()
	client, err := controlPlane.Client()
	if err != nil {
		t.Fatal(err)
	}
	content := `{"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass",
		"metadata": {"name": "` + name + `"}, "spec": {
		"instanceProfile": "nodes",
		"amiSelectorTerms": [{"alias": "al2023@latest"}],
		"subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": "prod"}}],
		"securityGroupSelectorTerms": [{"tags": {"karpenter.sh/discovery": "prod"}}]}}`
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(content), &object.Object); err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(controlPlane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := objects.Resource(api.EC2NodeClassGVR()).Apply(t.Context(), name, object,
		metav1.ApplyOptions{FieldManager: "test"}); err != nil {
		t.Fatal(err)
	}
	listed, err := client.NodeClasses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range listed {
		if class.Name == name {
			return class
		}
	}
	t.Fatalf("there is no ec2nodeclass %q", name)
	return api.EC2NodeClass{}
}

func TestResolveWritesTheStatusWhenItChanges(t *testing.T) {
	resolver, client := local(t)
	first := stored(t, "changing")
	resolved, err := resolver.Resolve(t.Context(), client, first, noon)
	if err != nil {
		t.Fatal(err)
	}
	if len(resolved.Status.Subnets) != 3 || len(resolved.Status.AMIs) == 0 || len(resolved.Status.SecurityGroups) != 1 ||
		resolved.Status.InstanceProfile != "nodes" ||
		!api.ConditionTrue(resolved.Status.Conditions, api.ConditionReady) {
		t.Errorf("status is %+v", resolved.Status)
	}
	written := stored(t, "changing")
	if len(written.Status.Subnets) != 3 || !api.ConditionTrue(written.Status.Conditions, api.ConditionReady) {
		t.Errorf("written is %+v", written.Status)
	}
	// An unchanged status is not written.
	if _, err := resolver.Resolve(t.Context(), client, written, noon.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if again := stored(t, "changing"); again.ResourceVersion != written.ResourceVersion {
		t.Error("a status without news was written")
	}
	// A subnet that is not selected any more leaves the status.
	staging := map[string]string{"karpenter.sh/discovery": "staging"}
	written.Spec.SubnetSelectorTerms = []api.SubnetSelectorTerm{{Tags: staging}}
	if resolved, err = resolver.Resolve(t.Context(), client, written, noon.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	after := stored(t, "changing")
	subnets := api.GetCondition(after.Status.Conditions, api.ConditionTypeSubnetsReady)
	if api.ConditionTrue(resolved.Status.Conditions, api.ConditionReady) || len(after.Status.Subnets) != 0 ||
		subnets == nil || !strings.Contains(subnets.Message, "SubnetSelector did not match any Subnets") {
		t.Errorf("without subnets the status is %+v", after.Status)
	}
}

func TestResolveLeavesWhatAnotherHasWritten(t *testing.T) {
	resolver, client := local(t)
	early := stored(t, "shared")
	if _, err := resolver.Resolve(t.Context(), client, early, noon); err != nil {
		t.Fatal(err)
	}
	written := stored(t, "shared")
	// The second resolver conflicts with the first, and returns the same status.
	resolved, err := resolver.Resolve(t.Context(), client, early, noon.Add(time.Minute))
	if err != nil || !api.ConditionTrue(resolved.Status.Conditions, api.ConditionReady) {
		t.Errorf("%+v, %v", resolved.Status, err)
	}
	if after := stored(t, "shared"); after.ResourceVersion != written.ResourceVersion {
		t.Error("the status of another was overwritten")
	}
	gone := early
	gone.Name = "gone"
	if _, err := resolver.Resolve(t.Context(), client, gone, noon); err != nil {
		t.Errorf("a class that is gone meanwhile: %v", err)
	}
}

func TestADryRunIsAskedForOnceForEachSpec(t *testing.T) {
	asking, client := local(t)
	asking.DryRun = true
	telling := NewResolver(asking.config, "prod") // as lifecycle's, which may not launch
	reason := func(resolver *Resolver) string {
		t.Helper()
		if _, err := resolver.Resolve(t.Context(), client, stored(t, "asked"), noon); err != nil {
			t.Fatal(err)
		}
		return api.GetCondition(stored(t, "asked").Status.Conditions, api.ConditionTypeValidationSucceeded).Reason
	}
	if got := reason(telling); got != api.ReasonDryRunDisabled {
		t.Errorf("nobody has asked: %s", got)
	}
	class := stored(t, "asked")
	if telling.Stale(&class) || !asking.Stale(&class) {
		t.Error("who may ask must, and nobody else")
	}
	if got := reason(asking); got != api.ConditionTypeValidationSucceeded {
		t.Errorf("asked and allowed: %s", got)
	}
	if got := reason(telling); got != api.ConditionTypeValidationSucceeded {
		t.Errorf("the answer was forgotten: %s", got)
	}
	if class = stored(t, "asked"); asking.Stale(&class) {
		t.Error("asked again")
	}
}

// TestAVolumeSmallerThanItsSnapshotIsFoundBeforeALaunch has a class whose volume EC2 refuses, and then mends
// it.
func TestAVolumeSmallerThanItsSnapshotIsFoundBeforeALaunch(t *testing.T) {
	resolver, client := local(t)
	resolver.DryRun = true
	profile(t, resolver.config)
	class := stored(t, "small")
	class.Spec.BlockDeviceMappings = []*api.BlockDeviceMapping{{
		DeviceName: aws.String("/dev/xvda"), RootVolume: true,
		EBS: &api.BlockDevice{VolumeSize: gibibytes(1), VolumeType: aws.String("gp3")},
	}}
	resolved, err := resolver.Resolve(t.Context(), client, class, noon)
	condition := api.GetCondition(resolved.Status.Conditions, api.ConditionTypeValidationSucceeded)
	if err != nil || condition == nil || condition.Reason != api.ReasonDryRunRefused ||
		!strings.Contains(condition.Message, "smaller than snapshot") ||
		!strings.Contains(condition.Message, "spec.blockDeviceMappings") ||
		api.ConditionTrue(resolved.Status.Conditions, api.ConditionReady) {
		t.Fatalf("%+v, %v", condition, err)
	}
	if !resolver.Stale(&resolved) {
		t.Error("EC2 is not asked again")
	}
	resolved.Spec.BlockDeviceMappings[0].EBS.VolumeSize = gibibytes(50)
	resolved, err = resolver.Resolve(t.Context(), client, resolved, noon)
	if err != nil || !api.ConditionTrue(resolved.Status.Conditions, api.ConditionReady) {
		t.Errorf("%+v, %v", resolved.Status.Conditions, err)
	}
}

func gibibytes(count int64) *resource.Quantity {
	return resource.NewQuantity(count<<30, resource.BinarySI)
}

// profile makes the instance profile that the classes name.
func profile(t *testing.T, config aws.Config) {
	t.Helper()
	client, name := iam.NewFromConfig(config), aws.String("nodes")
	_, role := client.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: name, AssumeRolePolicyDocument: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole",` +
			`"Principal":{"Service":"ec2.amazonaws.com"}}]}`,
	)})
	_, made := client.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: name})
	_, added := client.AddRoleToInstanceProfile(
		t.Context(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: name},
	)
	if err := errors.Join(role, made, added); err != nil {
		t.Fatal(err)
	}
}

// TestAClassWithExpressionsWaitsForTheirValues plays lifecycle, which stores them.
func TestAClassWithExpressionsWaitsForTheirValues(t *testing.T) {
	resolver, client := local(t)
	class := stored(t, "shared")
	class.Spec.Kubelet = &api.KubeletConfiguration{KubeReserved: map[string]string{"cpu": "vcpus * 10"}}
	inputs, err := kubelet.Inputs(&class)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		enabled bool
		known   kubelet.Evaluations
		want    string
	}{
		{"not allowed", false, nil, api.ReasonKubeletExpressionsDisabled},
		{"not evaluated", true, nil, api.ReasonDependenciesNotReady},
		{"values of another class", true, kubelet.Evaluations{"other": {}}, api.ReasonDependenciesNotReady},
		{
			"wrong", true, kubelet.Evaluations{inputs: {Reason: api.ReasonKubeletExpressionInvalid, Message: "wrong"}},
			api.ReasonKubeletExpressionInvalid,
		},
		{
			"evaluated", true, kubelet.Evaluations{inputs: {Types: map[string]kubelet.Values{"m5.large": {}}}},
			api.ReasonDryRunDisabled,
		},
	} {
		if test.known != nil {
			lifecycle, err := controlPlane.ClientOf("whittle:lifecycle")
			if err == nil {
				err = inventory.PutKubeletValues(t.Context(), lifecycle, test.known)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		resolver.Expressions = test.enabled
		class.Name = "gone" // nothing is written
		resolved, err := resolver.Resolve(t.Context(), client, class, noon)
		if err != nil {
			t.Fatal(err)
		}
		got := api.GetCondition(resolved.Status.Conditions, api.ConditionTypeValidationSucceeded)
		if got == nil || got.Reason != test.want {
			t.Errorf("%s: %+v, want %s", test.name, got, test.want)
		}
	}
}

func TestWhatReservationsHaveLeftIsKept(t *testing.T) {
	resolver, client := local(t)
	class := stored(t, "reserving")
	made, err := ec2sdk.NewFromConfig(resolver.config).CreateCapacityReservation(t.Context(),
		&ec2sdk.CreateCapacityReservationInput{
			InstanceType: aws.String("m5.large"), InstancePlatform: "Linux/UNIX", AvailabilityZone: aws.String("us-east-1a"),
			InstanceCount: aws.Int32(3),
		})
	if err != nil {
		t.Fatal(err)
	}
	id := aws.ToString(made.CapacityReservation.CapacityReservationId)
	class.Spec.CapacityReservationSelectorTerms = []api.CapacityReservationSelectorTerm{{ID: id}}
	resolved, err := resolver.Resolve(t.Context(), client, class, noon)
	if err != nil || len(resolved.Status.CapacityReservations) != 1 ||
		resolved.Status.CapacityReservations[0].InstanceType != "m5.large" {
		t.Fatalf("%+v, %v", resolved.Status.CapacityReservations, err)
	}
	counts, err := inventory.Reservations(t.Context(), client)
	if count := counts[id]; err != nil || count.Available != 3 || !count.Time.Equal(noon) {
		t.Errorf("%+v are left, %v", counts, err)
	}
}
