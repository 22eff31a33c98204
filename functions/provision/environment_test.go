package provision

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/classes"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/cluster/clustertest"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/queue"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/identity"
	"github.com/whittle-dev/whittle/testdata/lab/ssm"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

const clusterName = "test"

// controlPlane is one for all tests of the package: it takes seconds to start.
var controlPlane *clustertest.ControlPlane

func TestMain(m *testing.M) {
	os.Exit(clustertest.Run(m, func(started *clustertest.ControlPlane) error {
		controlPlane = started
		return started.Install(context.Background())
	}))
}

// tally counts a function's calls.
type tally struct {
	mutex sync.Mutex
	calls []string
}

func (c *tally) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		c.mutex.Lock()
		c.calls = append(c.calls, request.Method+" "+request.URL.Path)
		c.mutex.Unlock()
		return next.RoundTrip(request)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// environment is a cluster without nodes and an account without instances.
type environment struct {
	t      *testing.T
	core   clientset.Interface
	client *cluster.Client
	ec2    *ec2.Service
	config aws.Config
	sent   *outbox
}

// outbox is the queues that the function sends to.
type outbox struct {
	mutex    sync.Mutex
	messages []queue.Message
}

func (o *outbox) Send(_ context.Context, _ string, messages ...queue.Message) error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.messages = append(o.messages, messages...)
	return nil
}

type fixed struct{ client *cluster.Client }

func (f fixed) Client(context.Context) (*cluster.Client, error) { return f.client, nil }

// unlimited is the way to the control plane for what a test does itself: at once.
func unlimited() *rest.Config {
	config := controlPlane.RESTConfig()
	config.QPS = -1
	return config
}

// newEnvironment makes a cluster and an account, whose EC2 the changes make unkind.
func newEnvironment(t *testing.T, change ...func(*ec2.Config)) *environment {
	t.Helper()
	e := &environment{t: t, sent: &outbox{}}
	var err error
	if e.core, err = clientset.NewForConfig(unlimited()); err != nil {
		t.Fatal(err)
	}
	e.client = e.connect(alive())
	e.aws(change...)
	e.install()
	t.Cleanup(e.clear)
	return e
}

// aws starts an account with EC2, IAM and SSM.
func (e *environment) aws(change ...func(*ec2.Config)) {
	server := wire.NewServer()
	account, err := identity.New("123456789012", "us-east-1")
	if err != nil {
		e.t.Fatal(err)
	}
	account.Register(server)
	parameters := ssm.New("123456789012", "us-east-1")
	parameters.Register(server)
	config := ec2.Config{
		AccountID: "123456789012", Region: "us-east-1", Parameters: parameters, InstanceProfiles: account,
	}
	for _, f := range change {
		f(&config)
	}
	e.ec2, err = ec2.New(config)
	if err != nil {
		e.t.Fatal(err)
	}
	e.ec2.Register(server)
	e.ec2.RegisterCluster(clusterName, "1.36")
	url, err := server.Listen()
	if err != nil {
		e.t.Fatal(err)
	}
	operator := account.Operator()
	e.config = aws.Config{
		Region: "us-east-1", BaseEndpoint: &url,
		Retryer:     func() aws.Retryer { return retry.AddWithMaxBackoffDelay(retry.NewStandard(), 5*time.Millisecond) },
		Credentials: credentials.NewStaticCredentialsProvider(operator.AccessKeyID, operator.SecretAccessKey, ""),
	}
	_, err = iam.NewFromConfig(e.config).CreateRole(e.t.Context(), &iam.CreateRoleInput{
		RoleName: aws.String("nodes"),
		AssumeRolePolicyDocument: aws.String(
			`{"Version":"2012-10-17","Statement":[{"Effect":"Allow",` +
				`"Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`,
		),
	})
	e.try(err)
	e.t.Cleanup(func() {
		_ = e.ec2.Close()
		_ = server.Close()
	})
}

// connect gives a client whose calls are counted.
func (e *environment) connect(calls *tally) *cluster.Client { return e.connectThrough(calls.wrap) }

// connectThrough gives a client whose requests pass through wrap. It has the rights of the groups, or all.
func (e *environment) connectThrough(
	wrap func(http.RoundTripper) http.RoundTripper, groups ...string,
) *cluster.Client {
	config := controlPlane.RESTConfig()
	if len(groups) > 0 {
		config.Impersonate = rest.ImpersonationConfig{UserName: "test", Groups: groups}
	}
	config.Wrap(clustertest.Consistent)
	config.Wrap(wrap)
	client, err := cluster.NewForConfig(cluster.Endpoint{
		Name: clusterName, URL: controlPlane.Endpoint, CertificateAuthority: controlPlane.CertificateAuthority,
		Version: "1.36", ServiceCIDR: controlPlane.ServiceCIDR,
	}, config)
	if err != nil {
		e.t.Fatal(err)
	}
	return client
}

// install applies a NodePool, a class and a catalogue.
func (e *environment) install() {
	e.try(inventory.PutCatalog(e.t.Context(), e.client, offer()))
	e.apply(nodeClass("default", nil))
	e.apply(nodePool("default", "default", nil))
}

// offer is a small catalogue.
func offer() *catalog.Catalog {
	snapshot := &catalog.Catalog{
		Time: time.Now(), Region: "us-east-1", SpotPriceTime: time.Now(),
		Zones: []catalog.AvailabilityZone{
			{ZoneName: "us-east-1a", ZoneID: "use1-az1"},
			{ZoneName: "us-east-1b", ZoneID: "use1-az2"},
			{ZoneName: "us-east-1c", ZoneID: "use1-az3"},
		},
	}
	for _, size := range []struct {
		name  string
		cpu   int
		price float64
	}{{"m5.2xlarge", 8, 0.384}, {"m5.4xlarge", 16, 0.768}, {"m5.large", 2, 0.096}, {"m5.xlarge", 4, 0.192}} {
		snapshot.InstanceTypes = append(snapshot.InstanceTypes, catalog.InstanceTypeInfo{
			InstanceType: size.name, DefaultVCpus: size.cpu, SizeInMiB: int64(size.cpu) * 4096,
			SupportedArchitectures: []string{"x86_64"}, SupportedUsageClasses: []string{"on-demand", "spot"},
			Hypervisor: "nitro", Manufacturer: "Intel",
			Network: catalog.NetworkInfo{
				MaximumNetworkInterfaces:  4,
				Ipv4AddressesPerInterface: 15,
				MaximumNetworkCards:       1,
			},
			Zones:         []string{"us-east-1a", "us-east-1b", "us-east-1c"},
			OnDemandPrice: size.price,
			SpotPrices: map[string]float64{
				"us-east-1a": size.price * 0.3,
				"us-east-1b": size.price * 0.35,
				"us-east-1c": size.price * 0.4,
			},
		})
	}
	return snapshot
}

// handler is a new container of the function, whose calls are counted. It has the rights that the function has with
// all settings.
func (e *environment) handler(calls *tally) *Handler {
	config := e.config.Copy()
	config.HTTPClient = &http.Client{Transport: calls.wrap(http.DefaultTransport)}
	return &Handler{
		cluster: clusterName, provision: "provision", lifecycle: "lifecycle", connection: fixed{e.connectThrough(calls.wrap,
			"whittle:provision", "whittle:capacity-buffers", "whittle:capacity-buffers-status",
			"whittle:provisioning-requests", "whittle:provisioning-requests-status")},
		fleet: fleet.New(awsec2.NewFromConfig(config), clusterName), classes: classes.NewResolver(config, clusterName),
		sender: e.sent, now: time.Now,
	}
}

// alive is the tally of a function that nobody cuts off.
func alive() *tally { return &tally{} }

// tick wakes the function as the ticker does.
func tick(id string) events.SQSEvent {
	body := fmt.Sprintf(`{"cluster":%q,"at":%q,"reason":"tick","hop":0}`, clusterName, time.Now().Format(time.RFC3339Nano))
	return events.SQSEvent{Records: []events.SQSMessage{{MessageId: id, Body: body}}}
}

// tickedAtOnce gives the same tick to four containers beside each other.
func (e *environment) tickedAtOnce() {
	e.t.Helper()
	failures := make(chan error, 4)
	for range cap(failures) {
		go func() {
			_, err := e.handler(alive()).handle(e.t.Context(), tick("1"))
			failures <- err
		}()
	}
	for range cap(failures) {
		if err := <-failures; err != nil {
			e.t.Error(err)
		}
	}
}

// pod creates a pod that no node holds and waits until the scheduler has said so.
func (e *environment) pod(name, cpu string, change func(*corev1.Pod)) {
	e.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "pause",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		}}},
	}
	if change != nil {
		change(pod)
	}
	_, err := e.core.CoreV1().Pods("default").Create(e.t.Context(), pod, metav1.CreateOptions{})
	e.try(err)
	// Seen through the function's own list: the watch cache that it is served from
	// may be a moment behind.
	e.until("pod "+name+" to be unschedulable", func() bool {
		pods, err := e.client.UnboundPods(e.t.Context())
		return err == nil &&
			slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.Name == name && scheduling.IsProvisionable(&pod) })
	})
}

func (e *environment) claims() []api.NodeClaim {
	e.t.Helper()
	claims, err := e.client.NodeClaims(e.t.Context())
	e.try(err)
	return claims
}

// instances are those that have not ended.
func (e *environment) instances() []ec2.Instance {
	var running []ec2.Instance
	for _, instance := range e.ec2.Instances() {
		if instance.State == ec2.Pending || instance.State == ec2.Running {
			running = append(running, instance)
		}
	}
	return running
}

// events are the messages of a reason about an object.
func (e *environment) events(name, reason string) []string {
	list, err := e.core.CoreV1().Events("default").List(
		e.t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name + ",reason=" + reason})
	e.try(err)
	var messages []string
	for _, event := range list.Items {
		if event.Source.Component == cluster.FieldManager {
			messages = append(messages, event.Message)
		}
	}
	return messages
}

func (e *environment) try(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

func (e *environment) until(what string, done func() bool) {
	e.t.Helper()
	e.within(time.Minute, what, done)
}

func (e *environment) within(patience time.Duration, what string, done func() bool) {
	e.t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			e.t.Fatalf("waited in vain for %s", what)
		}
	}
}
