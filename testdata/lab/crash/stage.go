package crash

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/consolidation/settings"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// stage creates a scenario's initial state. After the first failure its methods do nothing; err
// holds that failure.
type stage struct {
	world     *World
	ctx       context.Context // of the setting up alone
	err       error
	workloads []*workload
	instances int  // how many it launched
	guarded   bool // whether there are budgets
	deployed  bool // whether there are Deployments
}

// try keeps the first error.
func (s *stage) try(err error) bool {
	if s.err == nil {
		s.err = err
	}
	return s.err == nil
}

// object creates an object of one of Karpenter's kinds.
func (s *stage) object(group, resource, kind, name string, spec map[string]any, annotations map[string]string) {
	if s.err != nil {
		return
	}
	made := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1", "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec,
	}}
	made.SetAnnotations(annotations)
	stored, err := s.world.objects.Resource(schema.GroupVersionResource{
		Group: group, Version: "v1", Resource: resource,
	}).Create(s.ctx, made, metav1.CreateOptions{})
	if s.try(err) {
		s.world.gate.times.note(stored)
	}
}

// class creates the EC2NodeClass "default", without a status. More are further fields of its spec.
func (s *stage) class(more map[string]any) {
	byTag := []any{map[string]any{"tags": map[string]any{"karpenter.sh/discovery": clusterName}}}
	spec := map[string]any{
		"role": nodeRole, "amiSelectorTerms": []any{map[string]any{"alias": "al2023@latest"}}, "subnetSelectorTerms": byTag,
		"securityGroupSelectorTerms": byTag,
	}
	maps.Copy(spec, more)
	s.object("karpenter.k8s.aws", "ec2nodeclasses", "EC2NodeClass", "default", spec, nil)
}

// classOfPlaces creates the class with a placement group and with reservations, of which there are
// none.
func (s *stage) classOfPlaces() {
	if s.err != nil {
		return
	}
	const group = "spread"
	_, err := s.world.account.sdk().CreatePlacementGroup(s.ctx,
		&awsec2.CreatePlacementGroupInput{GroupName: aws.String(group), Strategy: ec2types.PlacementStrategySpread})
	s.try(err)
	s.class(map[string]any{
		"placementGroupSelector": map[string]any{"name": group},
		"capacityReservationSelectorTerms": []any{
			map[string]any{"tags": map[string]any{"karpenter.sh/discovery": clusterName}},
		},
	})
}

// unavailable leaves out offerings that no scenario needs, so that functions change what they find.
func (s *stage) unavailable() {
	if s.err != nil {
		return
	}
	marks := &catalog.Unavailable{}
	marks.LeaveOut(catalog.CapacityTypeKey(api.CapacityTypeReserved), s.world.now().Add(time.Hour))
	s.try(inventory.MarkUnavailable(s.ctx, s.world.client, marks, s.world.now()))
}

// readyClass creates the class with the status that lifecycle gives it.
func (s *stage) readyClass() {
	s.class(nil)
	classes, err := s.world.client.NodeClasses(s.ctx)
	if !s.try(err) {
		return
	}
	// It has the status of the world's first class, which takes fewer calls.
	profiles := fleet.Profiles{IAM: awsiam.NewFromConfig(s.world.account.config), Cluster: clusterName, Region: region}
	status := s.world.readyClass.Status
	status.InstanceProfile, err = profiles.Ensure(s.ctx, &classes[0])
	s.try(err)
	s.try(s.world.client.PatchNodeClass(s.ctx, classes[0].Name,
		map[string]any{"metadata": map[string]any{"finalizers": s.world.readyClass.Finalizers}}))
	_, err = s.world.client.PatchNodeClassStatus(s.ctx, classes[0].Name, map[string]any{"status": status})
	s.try(err)
}

// pool creates the NodePool "default". The fields of more replace those of its spec.
func (s *stage) pool(more map[string]any) {
	spec := map[string]any{
		"template": map[string]any{"spec": map[string]any{
			"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
			"requirements": []any{
				map[string]any{"key": api.CapacityTypeLabelKey, "operator": "In", "values": []any{"spot", "on-demand"}},
			},
			"expireAfter": "Never",
		}},
		"disruption": map[string]any{
			"consolidateAfter": "Never", "consolidationPolicy": "WhenEmpty", "budgets": []any{map[string]any{"nodes": "100%"}},
		},
	}
	maps.Copy(spec, more)
	// Consolidation must not wait for the pool to settle.
	s.object("karpenter.sh", "nodepools", "NodePool", "default", spec,
		map[string]string{settings.SettleTimeAnnotationKey: "0s"})
}

// run invokes a function before the scenario begins.
func (s *stage) run(name string, event any) {
	if s.err == nil {
		_, err := s.world.invoke(s.ctx, name, event)
		s.try(err)
	}
}

// instanceType is the type of the instances that scenarios begin with.
const instanceType = ec2types.InstanceTypeM5Xlarge

// launch starts an instance of a capacity type, with the cluster's tags and those given.
func (s *stage) launch(capacityType string, tags map[string]string) *ec2.Instance {
	if s.err != nil {
		return &ec2.Instance{}
	}
	images, err := s.world.account.sdk().DescribeImages(s.ctx, &awsec2.DescribeImagesInput{
		Owners: []string{"amazon"}, Filters: []ec2types.Filter{
			{Name: aws.String("name"), Values: []string{"amazon-eks-node-al2023-x86_64-standard-" + s.world.version + "-*"}},
		},
	})
	if !s.try(err) {
		return &ec2.Instance{}
	}
	if len(images.Images) == 0 {
		s.try(fmt.Errorf("the local EC2 has no image for Kubernetes %s", s.world.version))
		return &ec2.Instance{}
	}
	image := images.Images[0].ImageId
	all := map[string]string{
		"kubernetes.io/cluster/" + clusterName: "owned", "eks:eks-cluster-name": clusterName, api.NodePoolLabelKey: "default",
		"karpenter.k8s.aws/ec2nodeclass": "default",
	}
	maps.Copy(all, tags)
	var list []ec2types.Tag
	for key, value := range all {
		list = append(list, ec2types.Tag{Key: aws.String(key), Value: aws.String(value)})
	}
	input := &awsec2.RunInstancesInput{
		ImageId: image, InstanceType: instanceType, MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeInstance, Tags: list}},
	}
	if capacityType == api.CapacityTypeSpot {
		input.InstanceMarketOptions = &ec2types.InstanceMarketOptionsRequest{MarketType: ec2types.MarketTypeSpot}
	}
	answer, err := s.world.account.sdk().RunInstances(s.ctx, input)
	if !s.try(err) {
		return &ec2.Instance{}
	}
	s.instances++
	for _, instance := range s.world.account.ec2.Instances() {
		if instance.ID == aws.ToString(answer.Instances[0].InstanceId) {
			return &instance
		}
	}
	s.try(fmt.Errorf("the local EC2 does not know the instance that it launched"))
	return &ec2.Instance{}
}

// claim creates a NodeClaim of the pool as provision writes it.
func (s *stage) claim(name string, change ...func(*api.NodeClaim)) *api.NodeClaim {
	if s.err != nil {
		return &api.NodeClaim{}
	}
	claim := &api.NodeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: api.APIVersion, Kind: api.NodeClaimKind},
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{api.TerminationFinalizer},
			Labels:      map[string]string{api.NodePoolLabelKey: "default", api.LabelNodeClass: "default"},
			Annotations: map[string]string{api.AttemptAnnotationKey: "1"}},
	}
	claim.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default"}
	claim.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
		{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"m5.4xlarge"}},
		{Key: api.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: []string{"spot", "on-demand"}},
	}
	for _, f := range change {
		f(claim)
	}
	stored, err := s.world.client.CreateNodeClaim(s.ctx, claim)
	if !s.try(err) {
		return &api.NodeClaim{}
	}
	s.world.gate.times.note(stored)
	return stored
}

// launched creates a claim and its instance, without a node. It is a spot instance, unless the
// change of the claim says otherwise.
func (s *stage) launched(name string, change ...func(*api.NodeClaim)) (*api.NodeClaim, *ec2.Instance) {
	wanted := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}, Annotations: map[string]string{}}}
	for _, f := range change {
		f(wanted)
	}
	instance := s.launch(cmp.Or(wanted.Labels[api.CapacityTypeLabelKey], api.CapacityTypeSpot),
		map[string]string{api.NodeClaimTagKey: name})
	s.claim(name, append([]func(*api.NodeClaim){func(claim *api.NodeClaim) {
		claim.Labels[corev1.LabelInstanceTypeStable], claim.Labels[corev1.LabelTopologyZone] = instance.InstanceType,
			instance.Zone
		claim.Labels[api.CapacityTypeLabelKey], claim.Labels[api.LabelInstanceID] = api.CapacityTypeSpot, instance.ID
	}}, change...)...)
	return s.status(name, instance, s.world.now(), api.ConditionTypeLaunched), instance
}

// status sets the claim's conditions to true, with a transition time.
func (s *stage) status(name string, instance *ec2.Instance, since time.Time, conditions ...string) *api.NodeClaim {
	if s.err != nil {
		return &api.NodeClaim{}
	}
	var list []metav1.Condition
	for _, kind := range conditions {
		list = append(list, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: kind, LastTransitionTime: metav1.NewTime(since),
		})
	}
	status := map[string]any{"providerID": instance.ProviderID(), "imageID": instance.ImageID, "conditions": list}
	if len(conditions) > 1 {
		status["nodeName"] = instance.PrivateDNSName
		node := newNode(instance, since)
		status["capacity"], status["allocatable"] = node.Status.Capacity, node.Status.Allocatable
	}
	stored, err := s.world.client.PatchNodeClaimStatus(s.ctx, name, map[string]any{"status": status})
	if !s.try(err) {
		return &api.NodeClaim{}
	}
	return stored
}

// node creates an initialized spot node with four processors, one hour old: a claim, its instance
// and its Node.
func (s *stage) node(name string, change ...func(*api.NodeClaim)) (*api.NodeClaim, *ec2.Instance) {
	_, instance := s.launched(name, append([]func(*api.NodeClaim){func(claim *api.NodeClaim) {
		claim.Annotations[api.AnnotationInstanceTagged] = "true"
	}}, change...)...)
	claim := s.status(name, instance, s.world.now().Add(-time.Hour),
		api.ConditionTypeLaunched, api.ConditionTypeRegistered, api.ConditionTypeInitialized, api.ConditionReady)
	if s.err != nil {
		return claim, instance
	}
	node, block := newNode(instance, s.world.now()), true
	maps.Copy(node.Labels, claim.Labels)
	node.Labels[api.NodeRegisteredLabelKey], node.Labels[api.NodeInitializedLabelKey] = "true", "true"
	node.Finalizers = []string{api.TerminationFinalizer}
	node.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: api.APIVersion, Kind: api.NodeClaimKind, Name: claim.Name, UID: claim.UID, BlockOwnerDeletion: &block},
	}
	stored, err := s.world.core.CoreV1().Nodes().Create(s.ctx, node, metav1.CreateOptions{})
	if s.try(err) {
		s.world.gate.times.note(stored)
	}
	return claim, instance
}

// annotatePool sets an annotation on the pool.
func (s *stage) annotatePool(key, value string) {
	if s.err != nil {
		return
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value)
	_, err := s.world.objects.Resource(held()[2]).Patch(s.ctx, "default", types.MergePatchType, patch,
		metav1.PatchOptions{})
	s.try(err)
}

// delete deletes a claim, as a person does.
func (s *stage) delete(claim *api.NodeClaim) {
	if s.err == nil {
		s.try(s.world.client.DeleteNodeClaim(s.ctx, claim.Name, claim.UID))
	}
}

// annotate sets annotations on a claim.
func (s *stage) annotate(claim *api.NodeClaim, patch map[string]any) {
	if s.err == nil {
		_, err := s.world.client.PatchNodeClaim(s.ctx, claim.Name, patch)
		s.try(err)
	}
}
