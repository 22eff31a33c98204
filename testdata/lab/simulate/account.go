package simulate

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"

	"net/http/httptest"

	"github.com/whittle-dev/whittle/shared/catalog/builtin"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/eks"
	"github.com/whittle-dev/whittle/testdata/lab/identity"
	"github.com/whittle-dev/whittle/testdata/lab/pricing"
	"github.com/whittle-dev/whittle/testdata/lab/ssm"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

const (
	accountID   = "123456789012"
	region      = "us-east-1"
	clusterName = "simulated"
	nodeRole    = "nodes"
	version     = "1.36"
	serviceCIDR = "10.100.0.0/16"
	queuesHost  = "https://sqs.us-east-1.amazonaws.com/" + accountID + "/"
	// authority stands for the certificate of the cluster's authority, which nobody checks here.
	authority = "-----BEGIN CERTIFICATE-----\nc2ltdWxhdGVk\n-----END CERTIFICATE-----\n"
)

// offered returns the sizes of one instance family in two processor generations, so that the planner has
// a choice.
func offered() ([]builtin.InstanceType, error) {
	all, err := builtin.All()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(one builtin.InstanceType) bool {
		return !slices.Contains([]string{"m5.large", "m5.xlarge", "m5.2xlarge", "m5.4xlarge", "m6i.large", "m6i.xlarge",
			"m6i.2xlarge"}, one.Name)
	}), nil
}

// openAccount makes an AWS account of the local services, in this process.
func (r *Run) openAccount(types []builtin.InstanceType) error {
	r.server = wire.NewServer()
	r.server.AnswerAtOnce()
	people, err := identity.New(accountID, region)
	if err != nil {
		return err
	}
	parameters := ssm.New(accountID, region)
	w := r.weather
	r.ec2, err = ec2.New(ec2.Config{
		AccountID: accountID, Region: region, InstanceTypes: types, Parameters: parameters, InstanceProfiles: people,
		Machines: r, Events: r, Seed: r.options.Seed, SilentRepeats: w.silentRepeats,
		Timing: ec2.Timing{Pending: w.pending, ShuttingDown: w.shuttingDown, Stopping: time.Minute},
		Consistency: ec2.Consistency{
			Seed: r.options.Seed, Lag: w.awsLag, TemplateLag: w.awsLag / 6, NameLag: w.awsLag / 6, Forget: w.forget,
		},
	})
	if err != nil {
		return err
	}
	r.ec2.RegisterCluster(clusterName, version)
	prices, err := pricing.New(region, types)
	if err != nil {
		return err
	}
	clusters, err := eks.New(eks.Config{AccountID: accountID, Region: region, Verifier: people, Instances: r.ec2})
	if err != nil {
		return err
	}
	err = clusters.RegisterCluster(eks.Cluster{
		Name: clusterName, Endpoint: "https://" + apiHost, CertificateAuthority: []byte(authority), Version: version,
		ServiceCIDR: serviceCIDR,
	})
	if err != nil {
		return err
	}
	for _, service := range []interface{ Register(*wire.Server) }{people, parameters, r.ec2, clusters, prices} {
		service.Register(r.server)
	}
	r.server.VerifySignatures(nil)
	r.server.Register("lambda", wire.HandlerFunc(r.invoked))
	r.server.Register("sqs", wire.HandlerFunc(r.queued))
	operator := people.Operator()
	if err := setCredentials(operator.AccessKeyID, operator.SecretAccessKey); err != nil {
		return err
	}
	people.SetPropagation(identity.Propagation{Seed: r.options.Seed, Least: 0, Most: w.propagation})
	return createRole(aws.Config{
		Region: region, HTTPClient: direct{r.server},
		Credentials: credentials.NewStaticCredentialsProvider(operator.AccessKeyID, operator.SecretAccessKey, ""),
	})
}

// createRole makes the role of the nodes.
func createRole(config aws.Config) error {
	_, err := awsiam.NewFromConfig(config).CreateRole(context.Background(), &awsiam.CreateRoleInput{
		RoleName: aws.String(nodeRole),
		AssumeRolePolicyDocument: aws.String(
			`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},` +
				`"Action":"sts:AssumeRole"}]}`),
	})
	return err
}

// variables are what the stack and Lambda set for functions.
func variables() map[string]string {
	return map[string]string{
		"CLUSTER_NAME": clusterName, "TICK_INTERVAL": "10s", "WATCH_FUNCTION": "watch",
		"CAPACITY_BUFFERS": "true", "PROVISIONING_REQUESTS": "true",
		"PROVISION_QUEUE_URL": queuesHost + "provision", "LIFECYCLE_QUEUE_URL": queuesHost + "lifecycle",
		"DISRUPT_QUEUE_URL": queuesHost + "disrupt", "INTERRUPT_QUEUE_URL": queuesHost + "interrupt",
		"WARNINGS_QUEUE_URL":              queuesHost + "warnings",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024",
	}
}

// setCredentials sets what the AWS SDK reads from the process.
func setCredentials(key, secret string) error {
	for name, value := range map[string]string{
		"AWS_REGION": region, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": "",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
		"AWS_PROFILE": "", "AWS_CA_BUNDLE": "",
	} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}

// direct sends requests to a server in this process.
type direct struct{ server http.Handler }

// Do sends the request.
func (d direct) Do(request *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	d.server.ServeHTTP(recorder, request)
	return recorder.Result(), nil
}

// invoked answers Lambda's call Invoke, which starts a watch.
func (r *Run) invoked(_ context.Context, c *wire.Call) (*wire.Response, error) {
	parts := strings.Split(c.HTTP.URL.Path, "/")
	if len(parts) < 4 {
		return nil, wire.Errorf("InvalidRequest", http.StatusBadRequest, "the path %s is no invocation", c.HTTP.URL.Path)
	}
	function, payload := parts[3], slices.Clone(c.Body)
	r.engine.In(r.engine.Between(10*time.Millisecond, time.Second, r.calling, "invoke"), func() {
		r.invoke(function, payload, func([]byte, bool) {})
	})
	return &wire.Response{Status: http.StatusAccepted}, nil
}

// entry is an entry of a batch for SQS.
type entry struct {
	ID                string `json:"Id"`
	MessageBody       string
	DelaySeconds      int
	ReceiptHandle     string
	VisibilityTimeout int
}

// queued answers the calls to SQS.
func (r *Run) queued(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		QueueURL string `json:"QueueUrl"`
		Entries  []entry
	}
	if err := json.Unmarshal(c.Body, &in); err != nil {
		return nil, wire.Errorf("InvalidRequest", http.StatusBadRequest, "%v", err)
	}
	m := r.mail[path.Base(in.QueueURL)]
	if m == nil {
		return nil, wire.Errorf("AWS.SimpleQueueService.NonExistentQueue", http.StatusBadRequest, "no queue %s", in.QueueURL)
	}
	done, failed := []map[string]any{}, []map[string]any{}
	for _, one := range in.Entries {
		switch c.Action {
		case "SendMessageBatch":
			sum := md5.Sum([]byte(one.MessageBody))
			id := m.send(one.MessageBody, time.Duration(one.DelaySeconds)*time.Second)
			done = append(done, map[string]any{"Id": one.ID, "MessageId": id, "MD5OfMessageBody": hex.EncodeToString(sum[:])})
		case "ChangeMessageVisibilityBatch":
			if m.show(one.ReceiptHandle, time.Duration(one.VisibilityTimeout)*time.Second) {
				done = append(done, map[string]any{"Id": one.ID})
				continue
			}
			failed = append(failed, map[string]any{"Id": one.ID, "Code": "InvalidParameterValue", "SenderFault": true})
		default:
			r.violate("the simulation does not know the SQS operation %s", c.Action)
		}
	}
	body, err := json.Marshal(map[string]any{"Successful": done, "Failed": failed})
	return &wire.Response{Body: body}, err
}

// urgent reports whether infra/rules.go sends events of a type to the queue of warnings.
func urgent(detailType string) bool {
	return slices.Contains([]string{
		"EC2 Spot Instance Interruption Warning", "EC2 Instance Rebalance Recommendation",
		"EC2 Capacity Reservation Instance Interruption Warning",
	}, detailType)
}

// Put passes an event of EC2 to the function interrupt, if a rule of infra/rules.go would.
func (r *Run) Put(_ context.Context, event ec2.Event) {
	detail, err := json.Marshal(event.Detail)
	if err != nil {
		panic(err) // it consists of strings
	}
	r.engine.Arrive("event "+event.DetailType+string(detail), func() { r.publish(event, detail) })
}

func (r *Run) publish(event ec2.Event, detail []byte) {
	var state struct{ State string }
	_ = json.Unmarshal(detail, &state) // other events have no state
	isChange := event.DetailType == "EC2 Instance State-change Notification"
	if isChange && (state.State == "pending" || state.State == "running") {
		return
	}
	r.events++
	id := fmt.Sprintf("event-%d", r.events)
	body, err := json.Marshal(map[string]any{
		"version": "0", "id": id, "detail-type": event.DetailType, "source": event.Source, "account": accountID,
		"time": event.Time.UTC().Format(time.RFC3339), "region": region, "resources": event.Resources,
		"detail": json.RawMessage(detail),
	})
	if err != nil {
		panic(err) // it consists of strings
	}
	r.trace("EventBridge: %s %s", event.DetailType, detail)
	late := r.engine.Between(50*time.Millisecond, time.Second, id, "late")
	if r.engine.Chance(r.weather.lateMessages, id, "very late") {
		late += r.engine.Between(0, 30*time.Second, id, "how late")
	}
	to := "interrupt"
	if urgent(event.DetailType) {
		to = "warnings"
	}
	r.engine.In(late, func() { r.mail[to].send(string(body), 0) })
}
