package machine_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awseks "github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/eks"
	"github.com/whittle-dev/whittle/testdata/lab/identity"
	"github.com/whittle-dev/whittle/testdata/lab/kubelet"
	controlplane "github.com/whittle-dev/whittle/testdata/lab/kubernetes"
	"github.com/whittle-dev/whittle/testdata/lab/machine"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

const clusterName = "prod"

// region is a local AWS with one cluster that has a real control plane.
type region struct {
	ec2      *awsec2.Client
	service  *ec2.Service
	machines *machine.Machines
	cluster  *controlplane.ControlPlane
	client   kubernetes.Interface
	image    string
	// published are the SSM parameters of all images.
	published parameters
}

type parameters map[string]string

func (p parameters) Set(name, value string) { p[name] = value }

func newRegion(t *testing.T) *region {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	server := wire.NewServer()
	url, err := server.Listen()
	must(err)
	t.Cleanup(func() { _ = server.Close() })
	binary, err := controlplane.Build(t.Context(), filepath.Join("..", "..", ".."), os.Stderr)
	must(err)
	cluster, err := controlplane.Start(t.Context(),
		controlplane.Options{
			Binary: binary, Directory: t.TempDir(), TokenWebhookURL: url + eks.WebhookPath + "/" + clusterName,
		})
	must(err)
	t.Cleanup(func() { _ = cluster.Stop() })

	iamService, err := identity.New("123456789012", "us-east-1")
	must(err)
	iamService.Register(server)
	machines, err := machine.New(machine.Config{
		Region: "us-east-1", Sessions: iamService, MemoryOverhead: 0.07,
		Timing: machine.Timing{
			Boot: 200 * time.Millisecond, NodeReady: 200 * time.Millisecond, Devices: 200 * time.Millisecond,
			PodStart: 100 * time.Millisecond, PodStop: 100 * time.Millisecond, NodeDeletion: 300 * time.Millisecond,
		},
	})
	must(err)
	t.Cleanup(func() { _ = machines.Close() })
	admin := cluster.RESTConfig()
	must(machines.RegisterCluster(clusterName, admin, admin.Host, admin.CAData))
	published := parameters{}
	service, err := ec2.New(ec2.Config{
		AccountID: "123456789012", Region: "us-east-1", Machines: machines, InstanceProfiles: iamService,
		Parameters: published,
	})
	must(err)
	t.Cleanup(func() { _ = service.Close() })
	service.RegisterCluster(clusterName, "1.36")
	service.Register(server)
	eksService, err := eks.New(eks.Config{
		AccountID: "123456789012", Region: "us-east-1", Verifier: iamService, Instances: service,
	})
	must(err)
	must(eksService.RegisterCluster(eks.Cluster{
		Name: clusterName, Endpoint: cluster.Endpoint, CertificateAuthority: cluster.CertificateAuthority, Version: "1.36",
		ServiceCIDR: cluster.ServiceCIDR,
	}))
	eksService.Register(server)

	operator := iamService.Operator()
	keys := credentials.NewStaticCredentialsProvider(operator.AccessKeyID, operator.SecretAccessKey, "")
	makeNodeRole(t, iam.New(iam.Options{Region: "us-east-1", BaseEndpoint: &url, Credentials: keys}))
	_, err = awseks.New(awseks.Options{
		Region: "us-east-1", BaseEndpoint: &url, Credentials: keys,
	}).CreateAccessEntry(t.Context(), &awseks.CreateAccessEntryInput{
		ClusterName: aws.String(clusterName), PrincipalArn: aws.String("arn:aws:iam::123456789012:role/nodes"),
		Type: aws.String("EC2_LINUX"),
	})
	must(err)
	client, err := kubernetes.NewForConfig(cluster.RESTConfig())
	must(err)
	return &region{
		ec2: awsec2.New(awsec2.Options{Region: "us-east-1", BaseEndpoint: &url, Credentials: keys}), service: service,
		machines: machines, cluster: cluster,
		client: client, image: published["/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/"+
			"recommended/image_id"],
		published: published,
	}
}

func makeNodeRole(t *testing.T, client *iam.Client) {
	t.Helper()
	name := aws.String("nodes")
	if _, err := client.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: name, AssumeRolePolicyDocument: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole",` +
			`"Principal":{"Service":"ec2.amazonaws.com"}}]}`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreateInstanceProfile(t.Context(),
		&iam.CreateInstanceProfileInput{InstanceProfileName: name}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.AddRoleToInstanceProfile(t.Context(),
		&iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: name}); err != nil {
		t.Fatal(err)
	}
}

func (r *region) userData() string {
	return fmt.Sprintf(`MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="//"

--//
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: %s
    apiServerEndpoint: %s
    certificateAuthority: %s
    cidr: %s
  kubelet:
    config:
      maxPods: 29
      registerWithTaints:
      - {key: karpenter.sh/unregistered, effect: NoExecute}
    flags:
    - --node-labels=karpenter.sh/nodepool=default
--//--
`, clusterName, r.cluster.Endpoint, base64.StdEncoding.EncodeToString(r.cluster.CertificateAuthority),
		r.cluster.ServiceCIDR)
}

// launch runs an instance and gives its id and its name.
func (r *region) launch(t *testing.T, instanceType, userData string) (id, name string) {
	t.Helper()
	return r.launchImage(t, r.image, instanceType, userData)
}

func (r *region) launchImage(t *testing.T, image, instanceType, userData string) (id, name string) {
	t.Helper()
	out, err := r.ec2.RunInstances(t.Context(), &awsec2.RunInstancesInput{
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1), ImageId: &image, InstanceType: ec2types.InstanceType(instanceType),
		IamInstanceProfile: &ec2types.IamInstanceProfileSpecification{Name: aws.String("nodes")},
		UserData:           aws.String(base64.StdEncoding.EncodeToString([]byte(userData))),
	})
	if err != nil {
		t.Fatal(err)
	}
	// EC2 tells the name once the instance runs.
	id = aws.ToString(out.Instances[0].InstanceId)
	name, _ = r.service.PrivateDNSName(id)
	return id, name
}

func (r *region) eventually(t *testing.T, id, what string, holds func(context.Context) bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if holds(t.Context()) {
			return
		}
	}
	t.Fatalf("not within 30 s: %s; the console of %s says:\n%s", what, id, r.machines.ConsoleOutput(id))
}

// mountsVolumes checks that a pod runs when its volume is attached to its machine, and that the volume
// is detached after the pod has ended.
func (r *region) mountsVolumes(t *testing.T, id, node string) {
	t.Helper()
	core := r.client.CoreV1()
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	once := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	_, err := core.PersistentVolumes().Create(t.Context(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "disk"},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: once, PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: "vol-1"},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = core.PersistentVolumeClaims("default").Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "disk"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: once, VolumeName: "disk", StorageClassName: new(string),
			Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = core.Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "kept"},
		Spec: corev1.PodSpec{
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers:  []corev1.Container{{Name: "kept", Image: "pause"}},
			Volumes: []corev1.Volume{{Name: "disk", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "disk"},
			}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	attachments := func(ctx context.Context) []storagev1.VolumeAttachment {
		list, err := r.client.StorageV1().VolumeAttachments().List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Error(err)
		}
		return list.Items
	}
	r.eventually(t, id, "the pod with a volume runs", func(ctx context.Context) bool {
		pod, err := core.Pods("default").Get(ctx, "kept", metav1.GetOptions{})
		return err == nil && pod.Status.Phase == corev1.PodRunning
	})
	if all := attachments(t.Context()); len(all) != 1 || !all[0].Status.Attached || all[0].Spec.NodeName != node {
		t.Errorf("the pod runs with the attachments %v", all)
	}
	if err := core.Pods("default").Delete(t.Context(), "kept", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.eventually(t, id, "the volume is detached", func(ctx context.Context) bool { return len(attachments(ctx)) == 0 })
}

// reboots reboots a machine with the pod web. The Node stays, is not ready meanwhile, and has another
// boot id afterwards. Its device plugin reports after that again. The pod's container starts again.
func (r *region) reboots(t *testing.T, id, name string) {
	t.Helper()
	before, err := r.client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	changes, err := r.client.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{
		FieldSelector: "metadata.name=" + name, ResourceVersion: before.ResourceVersion,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Stop()
	if _, err := r.ec2.RebootInstances(t.Context(), &awsec2.RebootInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	wasNotReady := false
	r.eventually(t, id, "the node is back", func(context.Context) bool {
		select {
		case event := <-changes.ResultChan():
			node, ok := event.Object.(*corev1.Node)
			booted := ok && node.Status.NodeInfo.BootID != before.Status.NodeInfo.BootID
			gpus, known := node.Status.Allocatable["nvidia.com/gpu"]
			wasNotReady = wasNotReady || booted && !isReady(node) && known && gpus.IsZero()
			return booted && isReady(node) && node.UID == before.UID
		default:
			return false
		}
	})
	if !wasNotReady {
		t.Error("the node was ready all the time, or had its GPU")
	}
	r.eventually(t, id, "the container has started again", func(ctx context.Context) bool {
		web, err := r.client.CoreV1().Pods("default").Get(ctx, "web", metav1.GetOptions{})
		return err == nil && web.Status.ContainerStatuses[0].RestartCount == 1
	})
}

func TestMachineJoinsRunsPodsAndLeaves(t *testing.T) {
	r := newRegion(t)
	id, name := r.launch(t, "g5.xlarge", r.userData())
	nodes := r.client.CoreV1().Nodes()
	var node *corev1.Node
	r.eventually(t, id, "the node is ready and has its GPU", func(ctx context.Context) bool {
		var err error
		node, err = nodes.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false
		}
		gpus := node.Status.Allocatable["nvidia.com/gpu"]
		return isReady(node) && gpus.Value() == 1
	})
	zone := node.Labels[corev1.LabelTopologyZone]
	if node.Spec.ProviderID != "aws:///"+zone+"/"+id || node.Labels[corev1.LabelInstanceTypeStable] != "g5.xlarge" ||
		node.Labels["karpenter.sh/nodepool"] != "default" {
		t.Errorf("the node is %s with the labels %v", node.Spec.ProviderID, node.Labels)
	}
	if pods := node.Status.Capacity[corev1.ResourcePods]; pods.Value() != 29 ||
		!hasTaint(node, "karpenter.sh/unregistered") {
		t.Errorf("the node takes %s pods and has the taints %v", pods.String(), node.Spec.Taints)
	}
	r.eventually(t, id, "the lease is there", func(ctx context.Context) bool {
		_, err := r.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, name, metav1.GetOptions{})
		return err == nil
	})

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}, Spec: corev1.PodSpec{
		Tolerations:    []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		InitContainers: []corev1.Container{{Name: "first", Image: "pause"}},
		Containers:     []corev1.Container{{Name: "web", Image: "pause"}},
	}}
	job := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "job", Namespace: "default", Annotations: map[string]string{kubelet.RunFor: "100ms"},
		},
		Spec: *pod.Spec.DeepCopy(),
	}
	job.Spec.RestartPolicy = corev1.RestartPolicyNever
	tooLarge := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "large", Namespace: "default"}, Spec: *pod.Spec.DeepCopy()}
	tooLarge.Spec.NodeName = name
	tooLarge.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("99")}
	pods := r.client.CoreV1().Pods("default")
	for _, p := range []*corev1.Pod{pod, job, tooLarge} {
		if _, err := pods.Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	r.eventually(t, id, "the kubelet rejects a pod without room", func(ctx context.Context) bool {
		large, err := pods.Get(ctx, "large", metav1.GetOptions{})
		return err == nil && large.Status.Phase == corev1.PodFailed && large.Status.Reason == "OutOfcpu"
	})
	r.eventually(t, id, "one pod runs and the other has succeeded", func(ctx context.Context) bool {
		web, err := pods.Get(ctx, "web", metav1.GetOptions{})
		job, jobErr := pods.Get(ctx, "job", metav1.GetOptions{})
		return err == nil && jobErr == nil && web.Status.Phase == corev1.PodRunning &&
			strings.HasPrefix(web.Status.PodIP, "100.64.") &&
			web.Status.ContainerStatuses[0].Ready && job.Status.Phase == corev1.PodSucceeded
	})
	r.mountsVolumes(t, id, name)
	r.reboots(t, id, name)
	if err := pods.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.eventually(t, id, "the deleted pod is gone", func(ctx context.Context) bool {
		_, err := pods.Get(ctx, "web", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	if err := r.service.Terminate(id); err != nil {
		t.Fatal(err)
	}
	r.eventually(t, id, "the node of the terminated instance is gone", func(ctx context.Context) bool {
		_, err := nodes.Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})

	t.Run("bad user data never joins", func(t *testing.T) {
		id, name := r.launch(t, "m5.large", "#!/bin/sh\n")
		r.eventually(t, id, "the console says why", func(context.Context) bool {
			return strings.Contains(r.machines.ConsoleOutput(id), "application/node.eks.aws")
		})
		out, err := r.ec2.GetConsoleOutput(t.Context(), &awsec2.GetConsoleOutputInput{InstanceId: &id})
		if err != nil {
			t.Fatal(err)
		}
		if text, err := base64.StdEncoding.DecodeString(aws.ToString(out.Output)); err != nil ||
			!strings.Contains(string(text), "nodeadm") {
			t.Errorf("the console is %q, %v", text, err)
		}
		if _, err := nodes.Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the node is there: %v", err)
		}
	})
	t.Run("another cluster's name is refused", func(t *testing.T) {
		id, _ := r.launch(t, "m5.large", strings.Replace(r.userData(), "name: prod", "name: test", 1))
		r.eventually(t, id, "the console says that it is unauthorized", func(context.Context) bool {
			return strings.Contains(r.machines.ConsoleOutput(id), "Unauthorized")
		})
	})
	t.Run("another service range is refused", func(t *testing.T) {
		id, _ := r.launch(t, "m5.large",
			strings.Replace(r.userData(), "cidr: "+r.cluster.ServiceCIDR, "cidr: 172.20.0.0/16", 1))
		r.eventually(t, id, "the console names both ranges", func(context.Context) bool {
			return strings.Contains(r.machines.ConsoleOutput(id),
				"172.20.0.0/16, but those of cluster prod are in "+r.cluster.ServiceCIDR)
		})
	})
	t.Run("DNS that nobody serves is refused", func(t *testing.T) {
		id, _ := r.launch(t, "m5.large", strings.Replace(r.userData(), "maxPods: 29", "clusterDNS: [172.20.0.10]", 1))
		r.eventually(t, id, "the console names the field", func(context.Context) bool {
			return strings.Contains(r.machines.ConsoleOutput(id), "spec.kubelet.config.clusterDNS is 172.20.0.10")
		})
	})
	t.Run("another authority is refused", func(t *testing.T) {
		id, _ := r.launch(t, "m5.large",
			strings.Replace(r.userData(), base64.StdEncoding.EncodeToString(r.cluster.CertificateAuthority),
				base64.StdEncoding.EncodeToString(otherAuthority(t)), 1))
		r.eventually(t, id, "the console names the certificate", func(context.Context) bool {
			return strings.Contains(r.machines.ConsoleOutput(id), "certificate signed by unknown authority")
		})
	})
	t.Run("every family joins", r.everyFamilyJoins)
	t.Run("killed hardware keeps its node and goes silent", func(t *testing.T) {
		id, name := r.launch(t, "m5.large", r.userData())
		r.eventually(t, id, "ready", func(ctx context.Context) bool {
			node, err := nodes.Get(ctx, name, metav1.GetOptions{})
			return err == nil && isReady(node)
		})
		if err := r.machines.Kill(id); err != nil {
			t.Fatal(err)
		}
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "late", Namespace: "default"},
			Spec:       corev1.PodSpec{NodeName: name, Containers: []corev1.Container{{Name: "web", Image: "pause"}}},
		}
		if _, err := pods.Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // ten times the start of a pod
		if late, err := pods.Get(t.Context(), "late", metav1.GetOptions{}); err != nil ||
			late.Status.Phase != corev1.PodPending {
			t.Errorf("a pod on a dead machine is %v, %v", late.Status.Phase, err)
		}
	})
}

func isReady(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func hasTaint(node *corev1.Node, key string) bool {
	for _, taint := range node.Spec.Taints {
		if taint.Key == key {
			return true
		}
	}
	return false
}
