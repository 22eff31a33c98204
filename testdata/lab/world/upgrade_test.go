package world_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	lab "github.com/whittle-dev/whittle/testdata/lab/s3"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

// upgraded goes from the present stack back to that of each earlier version, and to the present one again,
// while pods run. No node and no claim may change, no pod may end, and no message may be a dead letter.
func upgraded(t *testing.T, w *world.World, root string, install func()) {
	earlier, err := filepath.Glob(filepath.Join(root, "testdata", "releases", "*", "template.json.gz"))
	if err != nil || len(earlier) == 0 {
		t.Fatalf("there is no earlier template: %v", err)
	}
	setup, err := w.Scenario(testWriter{t})
	if err != nil {
		t.Fatal(err)
	}
	variables := applyPools(t, w, setup)
	if err := setup.Client.Apply(t.Context(), manifest(setup, "inflate.yaml"), variables); err != nil {
		t.Fatal(err)
	}
	if err := setup.Client.Scale(t.Context(), "default", "inflate", 5); err != nil {
		t.Fatal(err)
	}
	wait(t, "pods to run", setup.Client.Running("default", "app=inflate", 5))
	wait(t, "the nodes to be initialized", initialized(setup))
	before := standing(t, setup)
	for _, file := range earlier {
		backTo(t, w, file)
		unchanged(t, "after "+file, before, standing(t, setup))
		working(t, setup, before)
		install()
		unchanged(t, "after the present version", before, standing(t, setup))
		working(t, setup, before)
		nothingFailed(t, w)
	}
	if err := setup.Client.Scale(t.Context(), "default", "inflate", 0); err != nil {
		t.Fatal(err)
	}
	wait(t, "the cluster to be empty", empty(setup))
}

// standing are the names of pods, nodes and claims with their UIDs.
func standing(t *testing.T, setup scenario.Setup) map[string]string {
	t.Helper()
	seen := map[string]string{}
	pods, err := setup.Client.Pods(t.Context(), "default", "app=inflate")
	if err != nil {
		t.Fatal(err)
	}
	for i := range pods {
		seen["pod "+pods[i].Name] = string(pods[i].UID)
	}
	claims, err := setup.Client.NodeClaims(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range claims {
		seen["claim "+claims[i].Name] = string(claims[i].UID)
	}
	return seen
}

func unchanged(t *testing.T, when string, before, after map[string]string) {
	t.Helper()
	if !maps.Equal(before, after) {
		t.Errorf("%s there are %v, and before %v", when, after, before)
	}
}

// working waits until the stack has launched nodes for more pods, and has removed them again.
func working(t *testing.T, setup scenario.Setup, before map[string]string) {
	t.Helper()
	if err := setup.Client.Scale(t.Context(), "default", "inflate", 40); err != nil {
		t.Fatal(err)
	}
	wait(t, "more pods to run", setup.Client.Running("default", "app=inflate", 40))
	if err := setup.Client.Scale(t.Context(), "default", "inflate", 5); err != nil {
		t.Fatal(err)
	}
	wait(t, "fewer pods to run", setup.Client.Running("default", "app=inflate", 5))
	// ReplicaSets end pods in an order of their own, so that other ones may stay.
	clear(before)
	wait(t, "the cluster to be as small as before", func(ctx context.Context) (bool, string, error) {
		claims, err := setup.Client.NodeClaims(ctx)
		for i := range claims {
			if claims[i].DeletionTimestamp != nil {
				return false, claims[i].Name + " is leaving", err
			}
		}
		return len(claims) <= 2, fmt.Sprintf("%d claims", len(claims)), err
	})
	maps.Copy(before, standing(t, setup))
}

// backTo updates the stack to an earlier template, with the code that functions have now.
func backTo(t *testing.T, w *world.World, file string) {
	t.Helper()
	client, objects := cloudFormation(w), s3.NewFromConfig(configured(w), func(o *s3.Options) { o.UsePathStyle = true })
	name, bucket := aws.String("Whittle-released"), lab.BootstrapBucket("hnb659fds", world.AccountID, world.Region)
	shown, err := client.GetTemplate(t.Context(), &cloudformation.GetTemplateInput{StackName: name})
	if err != nil {
		t.Fatal(err)
	}
	template := withCode(t, read(t, file), aws.ToString(shown.TemplateBody))
	key := "earlier/" + filepath.Base(filepath.Dir(file)) + ".json"
	if _, err := objects.PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: &bucket, Key: &key, Body: bytes.NewReader(template),
	}); err != nil {
		t.Fatal(err)
	}
	_, err = client.UpdateStack(t.Context(), &cloudformation.UpdateStackInput{
		StackName: name, Capabilities: []types.Capability{types.CapabilityCapabilityNamedIam},
		TemplateURL: aws.String(fmt.Sprintf("https://s3.%s.amazonaws.com/%s/%s", world.Region, bucket, key)),
	})
	if err != nil {
		t.Fatal(err)
	}
	waiter := cloudformation.NewStackUpdateCompleteWaiter(client)
	if err := waiter.Wait(t.Context(), &cloudformation.DescribeStacksInput{StackName: name}, patience); err != nil {
		status, _, _ := w.Stack()
		t.Fatalf("back to %s: %v, the stack is %s", file, err, status)
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	opened, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	packed, err := gzip.NewReader(opened)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(packed)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// codeTemplate is the part of a template that names code.
type codeTemplate struct {
	Resources map[string]map[string]any
}

// withCode gives the functions of an earlier template the code of the present one, by the function's name.
func withCode(t *testing.T, earlier []byte, present string) []byte {
	t.Helper()
	var now codeTemplate
	if err := json.Unmarshal([]byte(present), &now); err != nil {
		t.Fatal(err)
	}
	code := map[any]any{}
	for _, properties := range functionsOf(now) {
		code[properties["FunctionName"]] = properties["Code"]
	}
	var whole map[string]any
	if err := json.Unmarshal(earlier, &whole); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, resource := range whole["Resources"].(map[string]any) {
		of := resource.(map[string]any)
		if of["Type"] != "AWS::Lambda::Function" {
			continue
		}
		properties := of["Properties"].(map[string]any)
		if its := code[properties["FunctionName"]]; its != nil {
			found++
			properties["Code"], properties["Architectures"] = its, []string{world.Architecture()}
		}
	}
	if found != 9 {
		t.Fatalf("%d functions of the earlier template have code now", found)
	}
	text, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func functionsOf(template codeTemplate) []map[string]any {
	var all []map[string]any
	for _, resource := range template.Resources {
		if resource["Type"] == "AWS::Lambda::Function" {
			all = append(all, resource["Properties"].(map[string]any))
		}
	}
	return all
}

// configured is the operator's way to the local AWS.
func configured(w *world.World) aws.Config {
	variable := func(name string) string {
		at := slices.IndexFunc(w.Environment(), func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
		return strings.TrimPrefix(w.Environment()[at], name+"=")
	}
	return aws.Config{
		Region: world.Region, BaseEndpoint: aws.String(w.URL()),
		Credentials: credentials.NewStaticCredentialsProvider(variable("AWS_ACCESS_KEY_ID"),
			variable("AWS_SECRET_ACCESS_KEY"), ""),
	}
}

func cloudFormation(w *world.World) *cloudformation.Client {
	return cloudformation.NewFromConfig(configured(w))
}
