package main

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/infra/local/ec2"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/fleet"
)

// These tests let the local AWS behave worse than it does by default, as far as AWS's documents
// allow it. The page of infra/local lists its assumptions, and the test of each.

var instanceSet = regexp.MustCompile(`(?s)<fleetInstanceSet>.*</fleetInstanceSet>`)

// withoutInstances answers the first CreateFleet with the fleet's id only.
func withoutInstances(next http.RoundTripper) http.RoundTripper {
	hidden := false
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		form, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		request.Body = io.NopCloser(bytes.NewReader(form))
		response, err := next.RoundTrip(request)
		if err != nil || hidden || !strings.Contains(string(form), "Action=CreateFleet") {
			return response, err
		}
		hidden = true
		answer, err := io.ReadAll(response.Body)
		if err != nil {
			return nil, err
		}
		answer = instanceSet.ReplaceAll(answer, []byte("<fleetInstanceSet/>"))
		response.Body = io.NopCloser(bytes.NewReader(answer))
		response.ContentLength = int64(len(answer))
		return response, nil
	})
}

// TestARepeatedTokenMayNameNoInstances: EC2 promises that a repeated call does nothing further, and
// not that its answer lists the instances again. Each pod gets a node all the same, and lifecycle
// finds the instances of the first call.
func TestARepeatedTokenMayNameNoInstances(t *testing.T) {
	e := newEnvironment(t)
	e.cut()
	next := e.afterwards()
	config := e.config.Copy()
	config.HTTPClient = &http.Client{Transport: withoutInstances(http.DefaultTransport)}
	next.fleet = fleet.New(awsec2.NewFromConfig(config), clusterName)
	e.converge(next)
}

// TestATokenMayBeForgotten: the repeated call launches the same number of instances once more.
func TestATokenMayBeForgotten(t *testing.T) {
	e := newEnvironment(t)
	e.cut()
	e.ec2.ForgetTokens()
	e.converge(e.afterwards())
}

// converge lets provision work, and ends the strays as lifecycle does. At the end each claim has an
// instance, and no instance is left over.
func (e *environment) converge(h *handler) {
	e.t.Helper()
	for range 3 {
		if _, err := h.handle(e.t.Context(), later(tick("2"))); err != nil {
			e.t.Fatal(err)
		}
	}
	for _, claim := range e.claims() {
		if claim.DeletionTimestamp != nil {
			_, err := e.client.PatchNodeClaim(
				e.t.Context(), claim.Name, map[string]any{"metadata": map[string]any{"finalizers": []string{}}})
			e.try(err)
		}
	}
	strays := e.strays()
	if len(strays) != together {
		e.t.Errorf("strays %+v, want the instances of one of two launches", strays)
	}
	for _, stray := range strays {
		e.try(e.ec2.Terminate(stray.ID))
	}
	e.nodes(together)
}

// TestANewInstanceProfileMayBeUnknown: IAM is eventually consistent. EC2 may not know an instance
// profile yet that IAM has confirmed. The next attempt of the same claim succeeds.
func TestANewInstanceProfileMayBeUnknown(t *testing.T) {
	e := newEnvironment(t)
	e.ec2.Starve(ec2.Starvation{
		Code:    "InvalidParameterValue",
		Message: "Value (nodes) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name",
	})
	e.pod("one", "1", nil)
	if _, err := e.handler(alive()).handle(t.Context(), tick("1")); err == nil {
		t.Error("the handler returns no error although EC2 refused the launch")
	}
	claims := e.standing()
	if len(claims) != 1 {
		t.Fatalf("%d claims", len(claims))
	}
	launched := api.GetCondition(claims[0].Status.Conditions, api.ConditionTypeLaunched)
	if launched == nil || launched.Status != metav1.ConditionUnknown || launched.Reason != "InstanceProfileNameInvalid" {
		t.Errorf("condition %+v", launched)
	}
	e.ec2.Feed("", "", "")
	if _, err := e.handler(alive()).handle(t.Context(), tick("2")); err != nil {
		t.Fatal(err)
	}
	e.oneNode()
	if after := e.standing(); len(after) != 1 || after[0].UID != claims[0].UID {
		t.Errorf("claims %+v, want the first one with an instance", after)
	}
	if class := e.class(); !api.ConditionTrue(class.Status.Conditions, api.ConditionReady) {
		t.Errorf("after the launch the class is %+v", class.Status.Conditions)
	}
}
