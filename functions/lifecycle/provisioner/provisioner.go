package provisioner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/api/legacy"
	"github.com/whittle-dev/whittle/shared/cluster"
)

// Seen is the part of the cluster that decides.
type Seen struct {
	Provisioners []legacy.Provisioner
	Templates    []legacy.AWSNodeTemplate
	Pools        []api.NodePool
	Classes      []api.EC2NodeClass
	Claims       []api.NodeClaim
	Settings     legacy.Settings
}

// Outcome is what is to be done for one Provisioner or one template.
type Outcome struct {
	// Class and Pool are to be written, in this order; nil where nothing differs. An object that
	// exists carries its resourceVersion.
	Class *api.EC2NodeClass
	Pool  *api.NodePool
	// Status is the merge patch of the status; nil where nothing differs.
	Status map[string]any
	Events []cluster.Event
}

// Next returns what is to be done for the Provisioner.
func Next(p *legacy.Provisioner, seen Seen, now time.Time) Outcome {
	if p.DeletionTimestamp != nil {
		return Outcome{}
	}
	var template *legacy.AWSNodeTemplate
	if ref := p.Spec.ProviderRef; ref != nil {
		at := slices.IndexFunc(seen.Templates, func(t legacy.AWSNodeTemplate) bool { return t.Name == ref.Name })
		if at >= 0 {
			template = &seen.Templates[at]
		}
	}
	converted := legacy.FromProvisioner(p, template, seen.Settings)
	list := converted.Changes()
	var outcome Outcome
	active := metav1.Condition{Type: api.ConditionTypeActive, Status: metav1.ConditionTrue}
	switch {
	case legacy.IsBlocked(list):
		active.Status, active.Reason = metav1.ConditionFalse, api.ReasonNotConverted
		active.Message = messageOf(list, legacy.Blocking)
	default:
		active = outcome.keep(p, &converted, seen)
	}
	outcome.Events = eventsOf(ReferenceTo(p), legacy.ProvisionerKind, p.Name, list)
	if active.Reason == api.ReasonNameTaken {
		outcome.Events = append(outcome.Events, warning(ReferenceTo(p), active.Reason, active.Message))
	}
	outcome.Status = statusOf(p, active, supported(list), seen, now)
	return outcome
}

// keep adds the objects that differ from the cluster's, and returns the condition Active. An object
// of the name that the Provisioner does not own stays as it is.
func (o *Outcome) keep(p *legacy.Provisioner, converted *legacy.Converted, seen Seen) metav1.Condition {
	pool := find(seen.Pools, p.Name, func(pool *api.NodePool) string { return pool.Name })
	class := find(seen.Classes, p.Name, func(class *api.EC2NodeClass) string { return class.Name })
	switch {
	case pool != nil && !owns(p, pool):
		return nameTaken(p, api.NodePoolKind)
	case class != nil && !owns(p, class):
		return nameTaken(p, api.EC2NodeClassKind)
	}
	if class == nil || class.DeletionTimestamp == nil && differs(&converted.Class.Spec, &class.Spec, defaultedClass) {
		o.Class = classToWrite(p, converted.Class, class)
	}
	if pool == nil || pool.DeletionTimestamp == nil && poolDiffers(converted.Pool, pool) {
		o.Pool = poolToWrite(p, converted.Pool, pool)
	}
	active := metav1.Condition{Type: api.ConditionTypeActive, Status: metav1.ConditionUnknown,
		Reason: api.ReasonNodePoolNotReady, Message: "the NodePool of its name is new"}
	if pool == nil {
		return active
	}
	if ready := api.GetCondition(pool.Status.Conditions, api.ConditionReady); ready != nil {
		active.Status, active.Reason = ready.Status, api.ReasonNodePoolNotReady
		active.Message = api.NotReadyBecause(pool.Status.Conditions)
		if ready.Status == metav1.ConditionTrue {
			active.Reason, active.Message = "", ""
		}
	}
	return active
}

func find[T any](list []T, name string, nameOf func(*T) string) *T {
	for i := range list {
		if nameOf(&list[i]) == name {
			return &list[i]
		}
	}
	return nil
}

// nameTaken is the condition Active where an object of the name belongs to somebody else.
func nameTaken(p *legacy.Provisioner, kind string) metav1.Condition {
	return metav1.Condition{
		Type: api.ConditionTypeActive, Status: metav1.ConditionFalse, Reason: api.ReasonNameTaken,
		Message: fmt.Sprintf(
			"there is a %s %q that this Provisioner does not own: delete the Provisioner, or give it another name", kind, p.Name,
		),
	}
}

// owns reports whether the Provisioner owns the object.
func owns(p *legacy.Provisioner, there metav1.Object) bool {
	return slices.ContainsFunc(there.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
		return owner.Kind == legacy.ProvisionerKind && owner.UID == p.UID
	})
}

// ownerOf is the reference by which the Provisioner owns its objects.
func ownerOf(p *legacy.Provisioner) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{
		APIVersion: legacy.ProvisionerAPIVersion, Kind: legacy.ProvisionerKind, Name: p.Name, UID: p.UID,
		Controller: &yes, BlockOwnerDeletion: &yes,
	}
}

// metadata returns the metadata of an object that the Provisioner owns. Labels and annotations of
// the Provisioner stay with it, because other tools recognise their objects by them. Whittle's
// annotations are settings.
func metadata(p *legacy.Provisioner, converted, there *metav1.ObjectMeta) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Name: converted.Name}
	if there != nil {
		meta = *there.DeepCopy()
	} else {
		meta.OwnerReferences = []metav1.OwnerReference{ownerOf(p)}
	}
	if meta.Labels == nil {
		meta.Labels = map[string]string{}
	}
	meta.Labels[api.ProvisionerNameLabelKey] = p.Name
	for key, value := range converted.Annotations {
		if strings.HasPrefix(key, api.OwnGroup+"/") {
			if meta.Annotations == nil {
				meta.Annotations = map[string]string{}
			}
			meta.Annotations[key] = value
		}
	}
	return meta
}

func poolToWrite(p *legacy.Provisioner, converted, there *api.NodePool) *api.NodePool {
	made := &api.NodePool{TypeMeta: converted.TypeMeta, Spec: converted.Spec}
	if there == nil {
		made.ObjectMeta = metadata(p, &converted.ObjectMeta, nil)
		return made
	}
	made.ObjectMeta = metadata(p, &converted.ObjectMeta, &there.ObjectMeta)
	return made
}

func classToWrite(p *legacy.Provisioner, converted, there *api.EC2NodeClass) *api.EC2NodeClass {
	made := &api.EC2NodeClass{TypeMeta: converted.TypeMeta, Spec: converted.Spec}
	if there == nil {
		made.ObjectMeta = metadata(p, &converted.ObjectMeta, nil)
		return made
	}
	made.ObjectMeta = metadata(p, &converted.ObjectMeta, &there.ObjectMeta)
	return made
}

// poolDiffers reports whether the pool is not what the Provisioner asks for.
func poolDiffers(converted, there *api.NodePool) bool {
	for key, value := range converted.Annotations {
		if strings.HasPrefix(key, api.OwnGroup+"/") && there.Annotations[key] != value {
			return true
		}
	}
	if there.Labels[api.ProvisionerNameLabelKey] != converted.Labels[api.ProvisionerNameLabelKey] {
		return true
	}
	return differs(&converted.Spec, &there.Spec, func(spec *api.NodePoolSpec) any {
		pool := &api.NodePool{Spec: *spec}
		pool.Default()
		// A pool that was read has this label from Default.
		labels := maps.Clone(pool.Spec.Template.Labels)
		delete(labels, api.ProvisionerNameLabelKey)
		if pool.Spec.Template.Labels = labels; len(labels) == 0 {
			pool.Spec.Template.Labels = nil
		}
		return pool.Spec
	})
}

func defaultedClass(spec *api.EC2NodeClassSpec) any {
	class := &api.EC2NodeClass{Spec: *spec}
	if spec.MetadataOptions != nil {
		options := *spec.MetadataOptions
		class.Spec.MetadataOptions = &options
	}
	class.Default()
	return class.Spec
}

// differs compares two specs by their JSON, with the defaults of the API server.
func differs[T any](a, b *T, defaulted func(*T) any) bool {
	left, leftErr := json.Marshal(defaulted(a))
	right, rightErr := json.Marshal(defaulted(b))
	return leftErr != nil || rightErr != nil || !reflect.DeepEqual(left, right)
}

// supported is the condition Supported.
func supported(list []legacy.Change) metav1.Condition {
	condition := metav1.Condition{Type: api.ConditionTypeSupported, Status: metav1.ConditionTrue}
	switch {
	case legacy.IsBlocked(list):
		condition.Status, condition.Reason = metav1.ConditionFalse, api.ReasonNotConverted
	case messageOf(list, legacy.Lost) != "":
		condition.Status, condition.Reason = metav1.ConditionFalse, api.ReasonFieldNotSupported
	}
	condition.Message = strings.TrimPrefix(
		messageOf(list, legacy.Blocking)+"; "+messageOf(list, legacy.Lost), "; ",
	)
	condition.Message = strings.TrimSuffix(condition.Message, "; ")
	return condition
}

// maximumMessage is the length of a condition's message that the API server accepts.
const maximumMessage = 32768

// messageOf joins the changes of a level, each with its object, field and remedy.
func messageOf(list []legacy.Change, level legacy.Level) string {
	var parts []string
	for _, change := range list {
		if change.Level == level {
			parts = append(parts, change.String())
		}
	}
	message := strings.Join(parts, "; ")
	return message[:min(len(message), maximumMessage/4)]
}

// eventsOf are the events about an old object: one for each change that loses something.
func eventsOf(about corev1.ObjectReference, kind, name string, list []legacy.Change) []cluster.Event {
	var events []cluster.Event
	for _, change := range list {
		if change.Level == legacy.Noted || change.Kind != kind || change.Name != name {
			continue
		}
		reason := api.ReasonFieldNotSupported
		if change.Level == legacy.Blocking {
			reason = api.ReasonNotConverted
		}
		events = append(events, warning(about, reason, change.Message()))
	}
	return events
}

// maximumEvent is the length of an event's message that the API server accepts.
const maximumEvent = 1024

func warning(about corev1.ObjectReference, reason, message string) cluster.Event {
	return cluster.Event{
		About: about, Type: corev1.EventTypeWarning, Reason: reason, Message: message[:min(len(message), maximumEvent)],
	}
}

// ReferenceTo names a Provisioner in events.
func ReferenceTo(p *legacy.Provisioner) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: legacy.ProvisionerAPIVersion, Kind: legacy.ProvisionerKind, Name: p.Name, UID: p.UID,
	}
}

// statusOf is the merge patch of the Provisioner's status.
func statusOf(p *legacy.Provisioner, active, supported metav1.Condition, seen Seen, now time.Time) map[string]any {
	status := map[string]any{}
	conditions := slices.Clone(p.Status.Conditions)
	for _, condition := range []metav1.Condition{active, supported} {
		condition.ObservedGeneration = p.Generation
		api.SetCondition(&conditions, condition, now)
	}
	if !reflect.DeepEqual(conditions, p.Status.Conditions) {
		status["conditions"] = conditions
	}
	pool := find(seen.Pools, p.Name, func(pool *api.NodePool) string { return pool.Name })
	if pool != nil && owns(p, pool) {
		resources := maps.Clone(pool.Status.Resources)
		delete(resources, api.ResourceNodes)
		patch := map[string]any{}
		for name, quantity := range resources {
			if old, there := p.Status.Resources[name]; !there || old.Cmp(quantity) != 0 {
				patch[string(name)] = quantity
			}
		}
		for name := range p.Status.Resources {
			if _, there := resources[name]; !there {
				patch[string(name)] = nil
			}
		}
		if len(patch) > 0 {
			status["resources"] = patch
		}
	}
	if last := lastLaunch(p.Name, seen.Claims); p.Status.LastScaleTime == nil && !last.IsZero() ||
		p.Status.LastScaleTime.Before(&last) {
		status["lastScaleTime"] = last
	}
	return patchOf(p.ResourceVersion, status)
}

// lastLaunch is when the newest claim of a pool was made.
func lastLaunch(pool string, claims []api.NodeClaim) metav1.Time {
	var last metav1.Time
	for i := range claims {
		if claims[i].Labels[api.NodePoolLabelKey] == pool && last.Before(&claims[i].CreationTimestamp) {
			last = claims[i].CreationTimestamp
		}
	}
	return last
}

func patchOf(version string, status map[string]any) map[string]any {
	if len(status) == 0 {
		return nil
	}
	return map[string]any{"metadata": map[string]any{"resourceVersion": version}, "status": status}
}

// Refused is Next's status patch for a Provisioner whose objects the API server refuses.
func Refused(p *legacy.Provisioner, refusal error, now time.Time) Outcome {
	conditions := slices.Clone(p.Status.Conditions)
	message := refusal.Error()
	api.SetCondition(&conditions, metav1.Condition{
		Type: api.ConditionTypeActive, Status: metav1.ConditionFalse, Reason: api.ReasonNotConverted,
		Message: message[:min(len(message), maximumMessage/4)], ObservedGeneration: p.Generation,
	}, now)
	outcome := Outcome{Events: []cluster.Event{warning(ReferenceTo(p), api.ReasonNotConverted, message)}}
	if !reflect.DeepEqual(conditions, p.Status.Conditions) {
		outcome.Status = patchOf(p.ResourceVersion, map[string]any{"conditions": conditions})
	}
	return outcome
}

// OfTemplate returns the status and the events of a template. It selects what the classes select
// that were made from it.
func OfTemplate(t *legacy.AWSNodeTemplate, seen Seen, now time.Time) Outcome {
	var list []legacy.Change
	var class *api.EC2NodeClass
	for i := range seen.Provisioners {
		p := &seen.Provisioners[i]
		if p.Spec.ProviderRef == nil || p.Spec.ProviderRef.Name != t.Name {
			continue
		}
		for _, change := range legacy.FromProvisioner(p, t, seen.Settings).OfClass {
			if change.Kind == legacy.AWSNodeTemplateKind && !slices.Contains(list, change) {
				list = append(list, change)
			}
		}
		there := find(seen.Classes, p.Name, func(class *api.EC2NodeClass) string { return class.Name })
		if class == nil && there != nil && owns(p, there) {
			class = there
		}
	}
	about := corev1.ObjectReference{
		APIVersion: legacy.AWSNodeTemplateAPIVersion, Kind: legacy.AWSNodeTemplateKind, Name: t.Name, UID: t.UID,
	}
	outcome := Outcome{Events: eventsOf(about, legacy.AWSNodeTemplateKind, t.Name, list)}
	status := map[string]any{}
	conditions := slices.Clone(t.Status.Conditions)
	condition := supported(list)
	condition.ObservedGeneration = t.Generation
	api.SetCondition(&conditions, condition, now)
	if !reflect.DeepEqual(conditions, t.Status.Conditions) {
		status["conditions"] = conditions
	}
	if class != nil {
		selected := selectedBy(class)
		for field, pair := range map[string][2]any{
			"subnets":        {selected.Subnets, t.Status.Subnets},
			"securityGroups": {selected.SecurityGroups, t.Status.SecurityGroups},
			"amis":           {selected.AMIs, t.Status.AMIs},
		} {
			if !reflect.DeepEqual(pair[0], pair[1]) {
				status[field] = pair[0]
			}
		}
	}
	outcome.Status = patchOf(t.ResourceVersion, status)
	return outcome
}

// selectedBy is what a class selects, in the form of a template's status.
func selectedBy(class *api.EC2NodeClass) legacy.AWSNodeTemplateStatus {
	var status legacy.AWSNodeTemplateStatus
	for _, subnet := range class.Status.Subnets {
		status.Subnets = append(status.Subnets, legacy.Subnet{ID: subnet.ID, Zone: subnet.Zone})
	}
	// The class has the subnet with the most free addresses first, which would change often.
	slices.SortFunc(status.Subnets, func(a, b legacy.Subnet) int { return cmp.Compare(a.ID, b.ID) })
	for _, group := range class.Status.SecurityGroups {
		status.SecurityGroups = append(status.SecurityGroups, legacy.SecurityGroup{ID: group.ID, Name: group.Name})
	}
	for _, ami := range class.Status.AMIs {
		status.AMIs = append(status.AMIs, legacy.AMI{ID: ami.ID, Name: ami.Name, Requirements: ami.Requirements})
	}
	return status
}
