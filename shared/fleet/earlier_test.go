package fleet_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// again is the same request, sent by a pass that did not write its token.
func again(request launch.Request) launch.Request {
	request.Repeated = true
	return request
}

// EC2 promises that a repeated call does nothing further, and not that its answer lists the
// instances of the first call.
func TestASilentAnswerToARepeatedTokenSaysNothing(t *testing.T) {
	t.Run("the fleet has the instances", func(t *testing.T) {
		a := newAccount(t)
		a.service.SilenceRepeats(true)
		a.service.SetVisibility(time.Hour) // not by their tag yet
		client, request := fleet.New(a.ec2, "prod"), a.request(t, "claim-1")
		first := mustLaunch(t, client, request)
		found := mustLaunch(t, client, again(request))
		if found.ID != first.ID || found.Zone != first.Zone || found.InstanceType != first.InstanceType ||
			found.SubnetID != first.SubnetID || found.ImageID != first.ImageID {
			t.Errorf("first %+v, found %+v", first, found)
		}
	})
	t.Run("the fleet has the shortage", func(t *testing.T) {
		a := newAccount(t)
		a.service.SilenceRepeats(true)
		a.service.Starve(ec2.Starvation{InstanceType: "m5.large"})
		a.service.Starve(ec2.Starvation{InstanceType: "m6i.large"})
		client, request := fleet.New(a.ec2, "prod"), a.request(t, "claim-1")
		first, err := client.Launch(t.Context(), request)
		if err != nil || len(first.Short) == 0 {
			t.Fatalf("%+v, %v", first, err)
		}
		outcome, err := client.Launch(t.Context(), again(request))
		if err != nil || len(outcome.Short) != len(first.Short) {
			t.Errorf("%+v, %v, want the shortages of the first call", outcome, err)
		}
	})
	for _, visible := range []bool{true, false} {
		t.Run(fmt.Sprintf("the fleet is not shown and the instance is: %t", visible), func(t *testing.T) {
			a := newAccount(t)
			a.service.SilenceRepeats(true)
			a.service.FailCalls(ec2.CallFailure{Action: "DescribeFleets", Code: "InvalidFleetId.NotFound"})
			if !visible {
				a.service.SetVisibility(time.Hour)
			}
			client, request := fleet.New(a.ec2, "prod"), a.request(t, "claim-1")
			first := mustLaunch(t, client, request)
			outcome, err := client.Launch(t.Context(), again(request))
			if !visible && (!errors.Is(err, fleet.ErrUnseen) || len(outcome.Short) != 0) {
				t.Errorf("%+v, %v, want that nothing is known", outcome, err)
			}
			if visible && (err != nil || len(outcome.Instances) != 1 || outcome.Instances[0].ID != first.ID) {
				t.Errorf("%+v, %v, want instance %s", outcome, err, first.ID)
			}
		})
	}
}

// The SDK repeats a call whose answer was lost. The repetition's answer says nothing about the
// first try.
func TestAnAnswerAfterALostOneSaysNothing(t *testing.T) {
	refusals := []string{"UnauthorizedOperation", "InsufficientInstanceCapacity", "MaxFleetCountExceeded", ""}
	for _, refusal := range refusals {
		for _, visible := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s visible=%t", refusal, visible), func(t *testing.T) {
				a := newAccount(t)
				request := a.request(t, "claim-1")
				if !visible {
					a.service.SetVisibility(time.Hour)
					a.service.FailCalls(ec2.CallFailure{Action: "DescribeFleets", Code: "InvalidFleetId.NotFound"})
				}
				a.service.SilenceRepeats(true)
				a.service.FailCalls(ec2.CallFailure{Action: "CreateFleet", Code: "InternalError", Times: 1, Done: true})
				if refusal != "" {
					a.service.FailCalls(ec2.CallFailure{Action: "CreateFleet", Code: refusal, Times: 1})
				}
				outcome, err := fleet.New(a.ec2, "prod").Launch(t.Context(), request)
				if len(a.alive()) != 1 || a.count("CreateFleet") != 2 {
					t.Fatalf("%d instances, %d calls", len(a.alive()), a.count("CreateFleet"))
				}
				if visible && (err != nil || len(outcome.Instances) != 1 || outcome.Instances[0].ID != a.alive()[0]) {
					t.Errorf("%+v, %v, want the instance of the first try", outcome, err)
				}
				if !visible && (!errors.Is(err, fleet.ErrUnseen) || errors.Is(err, fleet.ErrRefused)) {
					t.Errorf("%+v, %v, want that nothing is known", outcome, err)
				}
			})
		}
	}
}

// A throttled try was certainly not carried out.
func TestAnAnswerAfterAThrottledTryIsTheFirst(t *testing.T) {
	a := newAccount(t)
	request := a.request(t, "claim-1")
	a.service.FailCalls(ec2.CallFailure{Action: "CreateFleet", Code: "RequestLimitExceeded", Times: 1})
	a.service.FailCalls(ec2.CallFailure{Action: "CreateFleet", Code: "MaxFleetCountExceeded", Times: 1})
	outcome, err := fleet.New(a.ec2, "prod").Launch(t.Context(), request)
	if err != nil || len(outcome.Short) != 1 || a.count("DescribeInstances") != 0 {
		t.Errorf("%+v, %v", outcome, err)
	}
}
