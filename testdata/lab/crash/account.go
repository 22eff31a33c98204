package crash

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/whittle-dev/whittle/shared/catalog/builtin"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/eks"
	"github.com/whittle-dev/whittle/testdata/lab/identity"
	"github.com/whittle-dev/whittle/testdata/lab/pricing"
	"github.com/whittle-dev/whittle/testdata/lab/sqs"
	"github.com/whittle-dev/whittle/testdata/lab/ssm"
	"github.com/whittle-dev/whittle/testdata/lab/unkind"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

const (
	accountID   = "123456789012"
	region      = "us-east-1"
	clusterName = "crash"
	nodeRole    = "nodes"
)

// account is the local AWS of one trial.
type account struct {
	server   *wire.Server
	people   *identity.Service
	ec2      *ec2.Service
	mode     unkind.Mode
	queues   *sqs.Service
	urls     map[string]string // of queues, by function
	operator identity.Credentials
	invoked  int // how often the catalog function was invoked through Lambda's API
	answered int // how often a custom resource's answer came
	config   aws.Config
}

// offered returns one instance family, so that the planner has to choose a size.
func offered() ([]builtin.InstanceType, error) {
	all, err := builtin.All()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(one builtin.InstanceType) bool {
		return !slices.Contains([]string{"m5.large", "m5.xlarge", "m5.2xlarge", "m5.4xlarge"}, one.Name)
	}), nil
}

// newAccount makes an account without instances. The caller closes it.
func (w *World) newAccount(ctx context.Context) (*account, error) {
	a := &account{server: wire.NewServer(), urls: map[string]string{}}
	people, err := identity.New(accountID, region)
	if err != nil {
		return nil, err
	}
	a.people, a.operator = people, people.Operator()
	// Delays pass by the functions' clock. A call fails only where a scenario says so.
	a.mode = unkind.Mode{Seed: 1, Boot: step, Now: w.now}
	parameters := ssm.New(accountID, region)
	// A new launch template is known at once. Otherwise each scenario's first launch would be refused,
	// before it comes to the calls that the scenario is about.
	consistency := a.mode.Consistency()
	consistency.TemplateLag = 0
	a.ec2, err = ec2.New(ec2.Config{
		AccountID: accountID, Region: region, InstanceTypes: w.types, Parameters: parameters, InstanceProfiles: people,
		Consistency: consistency, SilentRepeats: true, Now: w.now,
	})
	if err != nil {
		return nil, err
	}
	a.ec2.RegisterCluster(clusterName, w.version)
	a.queues = sqs.New(sqs.Options{AccountID: accountID, Region: region, Endpoint: func() string { return w.gate.awsURL }})
	clusters, err := eks.New(eks.Config{AccountID: accountID, Region: region, Verifier: people, Instances: a.ec2})
	if err == nil {
		err = clusters.RegisterCluster(eks.Cluster{
			Name: clusterName, Endpoint: w.gate.kubernetesURL, CertificateAuthority: w.gate.authority, Version: w.version,
			ServiceCIDR: w.serviceCIDR,
		})
	}
	if err != nil {
		return nil, errors.Join(err, a.close())
	}
	for _, service := range []interface{ Register(*wire.Server) }{
		people, parameters, a.ec2, a.queues, clusters, w.prices,
	} {
		service.Register(a.server)
	}
	// A scenario's clock may be hours ahead of the server's, so signatures would look too old.
	a.server.VerifySignatures(nil)
	a.server.Register("lambda", wire.HandlerFunc(func(context.Context, *wire.Call) (*wire.Response, error) {
		a.invoked++
		return &wire.Response{Status: http.StatusAccepted}, nil
	}))
	a.server.Mount(responsePath, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { a.answered++ }))
	for _, name := range []string{"provision", "lifecycle", "disrupt", "interrupt", "warnings"} {
		if a.urls[name], err = a.queues.CreateQueue(name, nil); err != nil {
			return nil, errors.Join(err, a.close())
		}
	}
	a.config = aws.Config{
		Region: region, BaseEndpoint: aws.String("http://local"), HTTPClient: direct{a.server},
		Credentials: credentials.NewStaticCredentialsProvider(a.operator.AccessKeyID, a.operator.SecretAccessKey, ""),
	}
	_, err = awsiam.NewFromConfig(a.config).CreateRole(ctx, &awsiam.CreateRoleInput{
		RoleName: aws.String(nodeRole),
		AssumeRolePolicyDocument: aws.String(
			`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},` +
				`"Action":"sts:AssumeRole"}]}`),
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making the nodes' role: %w", err), a.close())
	}
	return a, nil
}

// delay makes IAM know later what functions write from now on. The delay is the longest, because one
// that is drawn depends on names with a class's UID, and no trial would repeat another.
func (a *account) delay() {
	late := a.mode.Propagation()
	late.Least = late.Most
	a.people.SetPropagation(late)
}

func (a *account) close() error { return errors.Join(a.queues.Close(), a.ec2.Close()) }

// environment returns the variables that the stack and Lambda set for the functions.
func (a *account) environment() []string {
	return []string{
		"CLUSTER_NAME=" + clusterName, "TICK_INTERVAL=10s", "CATALOG_FUNCTION=catalog",
		"PROVISION_QUEUE_URL=" + a.urls["provision"], "LIFECYCLE_QUEUE_URL=" + a.urls["lifecycle"],
		"DISRUPT_QUEUE_URL=" + a.urls["disrupt"], "INTERRUPT_QUEUE_URL=" + a.urls["interrupt"],
		"WARNINGS_QUEUE_URL=" + a.urls["warnings"],
		"AWS_REGION=" + region, "AWS_ACCESS_KEY_ID=" + a.operator.AccessKeyID,
		"AWS_SECRET_ACCESS_KEY=" + a.operator.SecretAccessKey,
		"AWS_EC2_METADATA_DISABLED=true", "TZ=:UTC",
	}
}

// sdk returns an EC2 client whose calls the gate does not count.
func (a *account) sdk() *awsec2.Client { return awsec2.NewFromConfig(a.config) }

// direct sends requests to a server in this process, without a network.
type direct struct{ server http.Handler }

// Do sends the request.
func (d direct) Do(request *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	d.server.ServeHTTP(recorder, request)
	return recorder.Result(), nil
}

// newPrices returns the price list, which is the same in all trials.
func newPrices(types []builtin.InstanceType) (*pricing.Service, error) {
	return pricing.New(region, types)
}
