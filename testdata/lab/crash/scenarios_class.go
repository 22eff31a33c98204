package crash

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/fleet"
)

// classScenarios are about EC2NodeClasses and the AWS resources that lifecycle creates for them.
func classScenarios() []Scenario {
	alone := []string{"lifecycle"}
	return []Scenario{
		{
			Function: "lifecycle", Name: "a class is new", Ticked: alone,
			Arrange: func(s *stage) {
				s.class(nil)
				s.pool(nil)
			},
			Done: func(t *trial, s *state) string {
				if len(s.classes) != 1 || !api.ConditionTrue(s.classes[0].Status.Conditions, api.ConditionReady) ||
					len(s.classes[0].Finalizers) != 1 {
					return "the class is not ready, or nothing holds it"
				}
				return t.remains(0, 1)
			},
		},
		{
			Function: "lifecycle", Name: "a class with a placement group and with reservations is new", Ticked: alone,
			Arrange: func(s *stage) { s.classOfPlaces() },
			Done: func(_ *trial, s *state) string {
				if len(s.classes) != 1 || !api.ConditionTrue(s.classes[0].Status.Conditions, api.ConditionReady) {
					return "the class is not ready"
				}
				return ""
			},
		},
		{
			Function: "lifecycle", Name: "a class is deleted", Ticked: alone,
			Arrange: func(s *stage) {
				s.readyClass()
				s.template("one")
				s.template("two")
			},
			Event: func(s *stage) any {
				s.try(s.world.objects.Resource(held()[3]).Delete(s.ctx, "default", metav1.DeleteOptions{}))
				return tickFor(s.world)
			},
			Done: func(t *trial, s *state) string {
				if len(s.classes) > 0 {
					return "the class is there still"
				}
				return t.remains(0, 0)
			},
		},
		{
			Function: "lifecycle", Name: "what nothing uses is swept", Ticked: alone, Step: time.Second, Alone: true,
			Arrange: func(s *stage) {
				s.readyClass()
				s.pool(nil)
				s.template("idle")
				s.profile("idle")
				s.lease("gone")
				// The sweep runs each half hour and removes resources older than an hour. It starts
				// with the scenario: see nextMinute.
				now := s.world.now()
				s.later(now.Truncate(30 * time.Minute).Add(2*time.Hour + time.Second).Sub(now))
			},
			// The profile stays for an hour after it was found unused.
			Done: func(t *trial, _ *state) string {
				_, err := t.world.core.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(context.Background(), "gone", getNow)
				if !apierrors.IsNotFound(err) {
					return fmt.Sprintf("the lease of a node that is gone is there still (%v)", err)
				}
				return t.remains(0, 2)
			},
		},
	}
}

// template creates a launch template as provision does for the class.
func (s *stage) template(name string) {
	if s.err != nil {
		return
	}
	_, err := s.world.account.sdk().CreateLaunchTemplate(s.ctx, &awsec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String(name),
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: ec2types.InstanceTypeM5Large},
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeLaunchTemplate,
			Tags: []ec2types.Tag{
				{Key: aws.String(api.ClusterTagKey(clusterName)), Value: aws.String(api.ClusterTagOwned)},
				{Key: aws.String(api.NodeClassTagKey), Value: aws.String("default")},
			}}},
	})
	s.try(err)
}

// profile creates an instance profile as provision does for a class that is gone, and returns its
// name.
func (s *stage) profile(class string) string {
	if s.err != nil {
		return ""
	}
	gone := &api.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: class, UID: "gone"}}
	gone.Spec.Role = nodeRole
	profiles := fleet.Profiles{IAM: awsiam.NewFromConfig(s.world.account.config), Cluster: clusterName, Region: region}
	name, err := profiles.Ensure(s.ctx, gone)
	s.try(err)
	return name
}

// lease creates the lease of a node that is gone.
func (s *stage) lease(node string) {
	if s.err != nil {
		return
	}
	renewed := metav1.NewMicroTime(s.world.now())
	stored, err := s.world.core.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(s.ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: coordinationv1.LeaseSpec{RenewTime: &renewed},
	}, metav1.CreateOptions{})
	if s.try(err) {
		s.world.gate.times.note(stored)
	}
}

// remains compares the numbers of launch templates and instance profiles, and describes a
// difference.
func (t *trial) remains(templates, profiles int) string {
	ctx, account := context.Background(), t.world.account
	left, err := account.sdk().DescribeLaunchTemplates(ctx, &awsec2.DescribeLaunchTemplatesInput{})
	if err != nil {
		return err.Error()
	}
	known, err := awsiam.NewFromConfig(account.config).ListInstanceProfiles(ctx, &awsiam.ListInstanceProfilesInput{})
	if err != nil {
		return err.Error()
	}
	if len(left.LaunchTemplates) != templates || len(known.InstanceProfiles) != profiles {
		return fmt.Sprintf("%d launch templates and %d instance profiles, want %d and %d", len(left.LaunchTemplates),
			len(known.InstanceProfiles), templates, profiles)
	}
	for _, profile := range known.InstanceProfiles {
		if len(profile.Roles) != 1 {
			return fmt.Sprintf("instance profile %s has %d roles", aws.ToString(profile.InstanceProfileName), len(profile.Roles))
		}
	}
	return ""
}
