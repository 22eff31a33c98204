package steering_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/identity"
	"github.com/whittle-dev/whittle/testdata/lab/machine"
	"github.com/whittle-dev/whittle/testdata/lab/steering"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
	"github.com/whittle-dev/whittle/testdata/lab/wire/wiretest"
)

type world struct {
	url    string
	client *awsec2.Client
	image  func() string
}

type nobody struct{}

func (nobody) Session(string, string) (identity.Credentials, error) {
	return identity.Credentials{}, errors.New("there are no roles")
}

type parameters struct {
	mu     sync.Mutex
	values map[string]string
}

func (p *parameters) Set(name, value string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.values[name] = value
}

func newWorld(t *testing.T) *world {
	t.Helper()
	machines, err := machine.New(machine.Config{Region: "us-east-1", Sessions: nobody{}})
	if err != nil {
		t.Fatal(err)
	}
	published := &parameters{values: map[string]string{}}
	service, err := ec2.New(ec2.Config{
		AccountID: "123456789012", Region: "us-east-1", Machines: machines, Parameters: published,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(service.Close(), machines.Close()) })
	service.RegisterCluster("prod", "1.36")
	config := wiretest.Listen(t, wire.NewServer(), service, steering.New(service, machines))
	return &world{
		url:    *config.BaseEndpoint,
		client: awsec2.NewFromConfig(config),
		image: func() string {
			published.mu.Lock()
			defer published.mu.Unlock()
			return published.values["/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id"]
		},
	}
}

// call sends a request as curl would and decodes the answer.
func (w *world) call(t *testing.T, method, path, body string, status int) map[string]any {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != status {
		t.Fatalf("%s %s gave %d, want %d: %s", method, path, response.StatusCode, status, text)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%s %s gave %q: %v", method, path, text, err)
	}
	return out
}

func (w *world) launch(t *testing.T, market types.MarketType) (string, error) {
	t.Helper()
	in := &awsec2.RunInstancesInput{
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1), ImageId: aws.String(w.image()), InstanceType: "m5.large",
	}
	if market != "" {
		in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: market}
	}
	out, err := w.client.RunInstances(t.Context(), in)
	if err != nil {
		return "", err
	}
	return aws.ToString(out.Instances[0].InstanceId), nil
}

func (w *world) state(t *testing.T, id string) string {
	t.Helper()
	for _, each := range w.call(t, "GET", "/local/instances", "", 200)["instances"].([]any) {
		if i := each.(map[string]any); i["id"] == id {
			return i["state"].(string)
		}
	}
	return ""
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("not within 5 s: %s", what)
}

func TestInstancesAreSteered(t *testing.T) {
	w := newWorld(t)
	spot, err := w.launch(t, types.MarketTypeSpot)
	if err != nil {
		t.Fatal(err)
	}
	onDemand, err := w.launch(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if price := w.call(t, "GET", "/local/instances", "", 200)["pricePerHour"].(float64); price <= 0.096 || price >= 0.192 {
		t.Errorf("an m5.large on demand and one on spot cost %g an hour", price)
	}
	eventually(t, "running", func() bool { return w.state(t, onDemand) == "running" })
	w.call(t, "POST", "/local/instances/"+spot+"/rebalance", "", 200)
	w.call(t, "POST", "/local/instances/"+onDemand+"/rebalance", "", 400)
	w.call(t, "POST", "/local/instances/"+spot+"/interrupt", `{"after":"10ms"}`, 200)
	eventually(t, "reclaimed", func() bool { return w.state(t, spot) == "terminated" })
	w.call(t, "POST", "/local/instances/"+spot+"/interrupt", "", 400)
	w.call(t, "POST", "/local/instances/"+onDemand+"/retire", `{"in":"24h"}`, 200)
	w.call(t, "POST", "/local/instances/"+onDemand+"/impair", `{"check":"system","since":"5m"}`, 200)
	w.call(t, "POST", "/local/instances/"+onDemand+"/impair", `{"check":"other"}`, 400)
	for filter, want := range map[string]int{
		"system-status.status=impaired": 1, "instance-status.status=impaired": 0, "event.code=instance-retirement": 1,
		"event.code=instance-stop": 0,
	} {
		name, value, _ := strings.Cut(filter, "=")
		listed, err := w.client.DescribeInstanceStatus(t.Context(),
			&awsec2.DescribeInstanceStatusInput{Filters: []types.Filter{{Name: &name, Values: []string{value}}}})
		if err != nil || len(listed.InstanceStatuses) != want {
			t.Errorf("%s gave %+v, %v", filter, listed, err)
		}
	}
	w.call(t, "POST", "/local/instances/"+onDemand+"/recover", "", 200)
	w.call(t, "POST", "/local/instances/"+onDemand+"/kill", "", 200)
	status, err := w.client.DescribeInstanceStatus(t.Context(),
		&awsec2.DescribeInstanceStatusInput{InstanceIds: []string{onDemand}})
	if err != nil || len(status.InstanceStatuses) != 1 ||
		status.InstanceStatuses[0].InstanceStatus.Status != types.SummaryStatusImpaired {
		t.Errorf("the killed instance's status is %+v, %v", status, err)
	}
	if text := w.call(t, "GET", "/local/instances/"+onDemand+"/console", "",
		200)["console"].(string); !strings.Contains(text, "power lost") {
		t.Errorf("the console says %q", text)
	}
	w.call(t, "POST", "/local/instances/"+onDemand+"/stop", "", 200)
	eventually(t, "stopped", func() bool { return w.state(t, onDemand) == "stopped" })
	w.call(t, "POST", "/local/instances/"+onDemand+"/terminate", "", 200)
	w.call(t, "POST", "/local/instances/i-none/stop", "", 400)
}

func TestCapacityAndCallsAreSteered(t *testing.T) {
	w := newWorld(t)
	starved := w.call(t, "POST", "/local/capacity/starve", `{"instanceType":"m5.*","for":"10m"}`, 200)["starved"].([]any)
	if len(starved) != 1 {
		t.Fatalf("starved is %v", starved)
	}
	if _, err := w.launch(t, ""); err == nil || !strings.Contains(err.Error(), "InsufficientInstanceCapacity") {
		t.Errorf("launching a starved type gave %v", err)
	}
	w.call(t, "POST", "/local/capacity/feed", `{"instanceType":"c5.*"}`, 400)
	w.call(t, "POST", "/local/capacity/feed", `{"instanceType":"m5.*"}`, 200)
	if _, err := w.launch(t, ""); err != nil {
		t.Errorf("launching after feeding: %v", err)
	}
	w.call(t, "POST", "/local/limits", `{"onDemandVCPUs":3}`, 200)
	if _, err := w.launch(t, ""); err == nil || !strings.Contains(err.Error(), "VcpuLimitExceeded") {
		t.Errorf("launching past the quota gave %v", err)
	}
	w.call(t, "POST", "/local/throttle", `{"action":"Describe*","for":"1m"}`, 200)
	if _, err := w.client.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{}); err == nil ||
		!strings.Contains(err.Error(), "RequestLimitExceeded") {
		t.Errorf("a throttled call gave %v", err)
	}
	w.call(t, "POST", "/local/throttle", `{"action":"Describe*","rate":0}`, 200)
	w.call(t, "POST", "/local/throttle", `{"rate":0.5}`, 400)
	before := w.image()
	w.call(t, "POST", "/local/images", `{"version":"1.36","release":"2026-11-20"}`, 200)
	if w.image() == before {
		t.Error("the recommended image is still the old one")
	}
	if timing := w.call(t, "POST", "/local/timing", `{"visibility":"3s","boot":"7s"}`,
		200); timing["visibility"] != "3s" || timing["boot"] != "7s" {
		t.Errorf("timing is %v", timing)
	}
	w.call(t, "POST", "/local/timing", `{"boot":"soon"}`, 400)
	w.call(t, "POST", "/local/timing", `{"colour":"red"}`, 400)
}

func TestChaosRatesFailuresAndReservationsAreSteered(t *testing.T) {
	w := newWorld(t)
	w.call(t, "POST", "/local/chaos", `{"share":1,"seed":7,"period":"1h"}`, 200)
	if _, err := w.launch(t, ""); err == nil || !strings.Contains(err.Error(), "InsufficientInstanceCapacity") {
		t.Errorf("launching while all is short gave %v", err)
	}
	if refusals := w.call(t, "GET", "/local/refusals", "", 200)["refusals"].([]any); len(refusals) != 1 {
		t.Errorf("refusals are %v", refusals)
	}
	w.call(t, "POST", "/local/chaos/pass", `{"time":"2h"}`, 200)
	w.call(t, "POST", "/local/chaos", `{"share":0}`, 200)
	w.call(t, "POST", "/local/chaos", `{"share":2}`, 400)

	w.call(t, "POST", "/local/failures", `{"action":"RunInstances","code":"InternalError","times":1}`, 200)
	if _, err := w.launch(t, ""); err == nil || !strings.Contains(err.Error(), "InternalError") {
		t.Errorf("a call that was to fail gave %v", err)
	}
	w.call(t, "POST", "/local/failures", `{"code":"InternalError"}`, 400)

	w.call(t, "POST", "/local/rates", `{"rates":[{"action":"DescribeVpcs","perSecond":0.001,"burst":1}]}`, 200)
	w.call(t, "POST", "/local/calls/reset", "", 200)
	for range 3 {
		_, _ = w.client.DescribeVpcs(t.Context(), &awsec2.DescribeVpcsInput{}) // counted below
	}
	counts := w.call(t, "GET", "/local/calls", "", 200)["calls"].(map[string]any)["ec2:DescribeVpcs"].(map[string]any)
	if counts["total"].(float64) != 3 || counts["throttled"].(float64) != 2 || counts["failed"].(float64) != 0 {
		t.Errorf("counts are %v, want 3 calls of which 2 were throttled", counts)
	}
	if rates := w.call(t, "POST", "/local/rates", `{"ec2":true}`, 200)["rates"].([]any); len(rates) < 4 {
		t.Errorf("EC2's rates are %v", rates)
	}
	w.call(t, "POST", "/local/rates", `{"rates":[{"action":"*"}]}`, 400)
	w.call(t, "POST", "/local/rates", `{}`, 200)

	id := w.call(t, "POST", "/local/capacity-reservations",
		`{"instanceType":"m5.large","zone":"us-east-1a","count":2,"match":"open"}`, 200)["id"].(string)
	w.call(t, "POST", "/local/capacity/starve", "", 200) // reserved capacity is not affected
	if _, err := w.launch(t, ""); err != nil {
		t.Errorf("launching into an open reservation: %v", err)
	}
	held := w.call(t, "GET", "/local/capacity-reservations", "", 200)["capacityReservations"].([]any)[0].(map[string]any)
	if held["id"] != id || held["available"].(float64) != 1 {
		t.Errorf("the reservation is %v", held)
	}
	w.call(t, "POST", "/local/capacity-reservations/"+id+"/resize", `{"count":5}`, 200)
	w.call(t, "POST", "/local/capacity-reservations/"+id+"/interrupt", "", 400) // it is not interruptible
	w.call(t, "POST", "/local/capacity-reservations/"+id+"/cancel", "", 200)
	w.call(t, "POST", "/local/capacity-reservations/"+id+"/cancel", "", 400)
	w.call(t, "POST", "/local/capacity-reservations", `{"instanceType":"m5.none","zone":"us-east-1a","count":2}`, 400)

	image := w.call(t, "POST", "/local/images/register",
		`{"name":"golden","family":"Bottlerocket","architecture":"arm64","tags":{"team":"blue"}}`, 200)["id"].(string)
	w.call(t, "POST", "/local/images/"+image+"/deprecate", "", 200)
	w.call(t, "POST", "/local/images/"+image+"/deregister", "", 200)
	w.call(t, "POST", "/local/images/"+image+"/deregister", "", 400)
}

func TestTheInterfaceExplainsItself(t *testing.T) {
	w := newWorld(t)
	page := w.call(t, "GET", "/local/", "", 200)
	var paths []string
	for _, each := range page["operations"].([]any) {
		paths = append(paths, each.(map[string]any)["path"].(string))
	}
	if !strings.Contains(page["about"].(string), "simulator") ||
		!slices.Contains(paths, "/local/instances/{id}/interrupt") {
		t.Errorf("the page is %v", page)
	}
}
