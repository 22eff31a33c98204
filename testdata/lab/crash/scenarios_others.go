package crash

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/cfn"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/install/manifests"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// nobody is for scenarios in which ticks wake no function.
func nobody() []string { return []string{} }

func tickerScenarios() []Scenario {
	return []Scenario{{
		Function: "ticker", Name: "a minute", Ticked: nobody(),
		Event: func(*stage) any { return struct{}{} },
		Done: func(t *trial, _ *state) string {
			for name, least := range map[string]int{"provision": 6, "lifecycle": 1, "disrupt": 3} {
				if sent, err := t.world.account.waiting(name); err != nil || sent < least {
					return fmt.Sprintf("the queue of %s has %d messages, want %d (%v)", name, sent, least, err)
				}
			}
			return ""
		},
	}}
}

// waiting counts the messages in a function's queue, delayed ones included.
func (a *account) waiting(name string) (int, error) {
	attributes, err := a.queues.Attributes(name)
	if err != nil {
		return 0, err
	}
	sum := 0
	for _, attribute := range []string{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed"} {
		count, err := strconv.Atoi(attributes[attribute])
		if err != nil {
			return 0, err
		}
		sum += count
	}
	return sum, nil
}

func catalogScenarios() []Scenario {
	whole := func(t *trial, _ *state) string {
		read, err := inventory.Catalog(context.Background(), t.world.client)
		if err != nil {
			return err.Error()
		}
		for _, known := range read.InstanceTypes {
			if known.OnDemandPrice == 0 || len(known.SpotPrices) != 3 {
				return fmt.Sprintf("type %s has the prices %v and %v", known.InstanceType, known.OnDemandPrice, known.SpotPrices)
			}
		}
		if len(read.InstanceTypes) != len(t.world.types) {
			return fmt.Sprintf("the catalogue has %d types, want %d", len(read.InstanceTypes), len(t.world.types))
		}
		return ""
	}
	return []Scenario{
		{
			Function: "catalog", Name: "the first time", Ticked: nobody(), Done: whole, Event: func(*stage) any {
				return struct{}{}
			},
			Arrange: func(s *stage) {
				s.try(s.world.core.CoreV1().ConfigMaps(whittleNamespace).Delete(s.ctx, catalogName, metav1.DeleteOptions{}))
			},
		},
		{
			Function: "catalog", Name: "an hour later", Ticked: nobody(), Event: func(*stage) any { return struct{}{} },
			Arrange: func(s *stage) { s.later(time.Hour) },
			Done: func(t *trial, s *state) string {
				if read, err := inventory.Catalog(context.Background(), t.world.client); err == nil &&
					t.world.now().Sub(read.Time) > 30*time.Minute {
					return "the catalogue is old"
				}
				return whole(t, s)
			},
		},
	}
}

func consoleScenarios() []Scenario {
	return []Scenario{{
		// The console only reads. A repeated request gets its answer again.
		Function: "console", Name: "a dashboard is looked at", Ticked: nobody(), Event: func(*stage) any {
			return struct{}{}
		},
		Arrange: func(s *stage) {
			s.pool(nil)
			s.node("shown")
			s.pods("guest", 1, "1500m")
		},
		Done: running(1),
	}}
}

func installEvent(kind cfn.RequestType, answerTo string) cfn.Event {
	return cfn.Event{
		RequestType: kind, RequestID: "request", ResponseURL: answerTo, LogicalResourceID: "Install", StackID: "arn:stack",
		PhysicalResourceID: "whittle-install-" + clusterName, ResourceType: "AWS::CloudFormation::CustomResource",
	}
}

func installScenarios() []Scenario {
	scenario := func(kind cfn.RequestType, present bool, arrange func(*stage)) Scenario {
		return Scenario{
			Function: "install", Name: string(kind), Ticked: nobody(), Arrange: arrange,
			Event: func(s *stage) any { return installEvent(kind, s.world.gate.answerURL) },
			Done: func(t *trial, _ *state) string {
				if t.world.account.answered == 0 {
					return "CloudFormation has no answer"
				}
				return t.world.rights(present)
			},
		}
	}
	after := func(kind cfn.RequestType) func(*stage) {
		return func(s *stage) {
			s.run("install", installEvent(kind, ""))
			s.world.end() // an update comes to a new container, which asks EKS for the cluster
		}
	}
	return []Scenario{
		scenario(cfn.RequestDelete, false, after(cfn.RequestCreate)),
		scenario(cfn.RequestCreate, true, after(cfn.RequestDelete)),
		scenario(cfn.RequestUpdate, true, after(cfn.RequestCreate)),
	}
}

// rights describes rights in the cluster that should exist and do not, or the reverse.
func (w *World) rights(present bool) string {
	objects, err := manifests.RBAC()
	if err != nil {
		return err.Error()
	}
	for i := range objects {
		name := objects[i].GetName()
		if objects[i].GetKind() != "ClusterRole" {
			continue
		}
		_, err := w.core.RbacV1().ClusterRoles().Get(context.Background(), name, metav1.GetOptions{})
		switch {
		case present && err != nil:
			return fmt.Sprintf("clusterrole %s: %v", name, err)
		case !present && !apierrors.IsNotFound(err):
			return fmt.Sprintf("clusterrole %s is there still (%v)", name, err)
		}
	}
	return w.policies(present)
}

// policies describes admission policies in the cluster that should exist and do not, or the reverse.
func (w *World) policies(present bool) string {
	objects, err := manifests.Admission(manifests.ModeAudit)
	if err != nil {
		return err.Error()
	}
	for i := range objects {
		name := objects[i].GetName()
		if objects[i].GetKind() != "ValidatingAdmissionPolicy" {
			continue
		}
		policies := w.core.AdmissionregistrationV1().ValidatingAdmissionPolicies()
		_, err := policies.Get(context.Background(), name, metav1.GetOptions{})
		switch {
		case present && err != nil:
			return fmt.Sprintf("admission policy %s: %v", name, err)
		case !present && !apierrors.IsNotFound(err):
			return fmt.Sprintf("admission policy %s is there still (%v)", name, err)
		}
	}
	return ""
}
