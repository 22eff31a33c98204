package manifests

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/whittle-dev/whittle/functions/console/document"
	"github.com/whittle-dev/whittle/functions/console/faults"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/api/legacy"
)

// envelope holds the fields that every object has.
type envelope struct {
	apiVersion, kind              string
	name, generateName, namespace string
	items                         []byte
}

// envelopeOf reads an object's envelope. Values that are no strings stay empty. Decoding the object
// reports them later.
func envelopeOf(object []byte) *envelope {
	e := &envelope{}
	for key, value := range document.Fields(object) {
		switch key {
		case "apiVersion":
			e.apiVersion, _ = document.Text(value)
		case "kind":
			e.kind, _ = document.Text(value)
		case "items":
			e.items = value
		case "metadata":
			for key, value := range document.Fields(value) {
				switch key {
				case "name":
					e.name, _ = document.Text(value)
				case "generateName":
					e.generateName, _ = document.Text(value)
				case "namespace":
					e.namespace, _ = document.Text(value)
				}
			}
		}
	}
	return e
}

// what names the object in messages.
func (e *envelope) what() string {
	name := cmp.Or(e.name, e.generateName)
	if e.namespace != "" {
		name = e.namespace + "/" + name
	}
	if name == "" {
		return e.kind
	}
	return fmt.Sprintf("%s %q", e.kind, name)
}

// document reads a document: an object, a list of objects, or an array of them.
func (r *reader) document(d *document.Document) {
	if !document.IsList(d.JSON) {
		r.object(d, envelopeOf(d.JSON))
		return
	}
	for i, entry := range document.Entries(d.JSON) {
		r.document(d.Entry(entry, i))
	}
}

func (r *reader) object(d *document.Document, e *envelope) {
	for _, field := range []struct{ name, value, example string }{
		{"kind", e.kind, "Pod"}, {"apiVersion", e.apiVersion, "v1"},
	} {
		if field.value == "" {
			r.errs = append(
				r.errs,
				d.Errorf(
					document.Path{field.name}, "%s: is missing: each object says it, such as %s: %s", field.name, field.name,
					field.example,
				),
			)
			return
		}
	}
	if kind, isList := strings.CutSuffix(e.kind, "List"); isList && (e.items != nil || kind == "") {
		r.list(d, e, kind)
		return
	}
	read := kinds[e.apiVersion+" "+e.kind]
	if read == nil {
		r.skip(d, e)
		return
	}
	read(r, d, e)
}

// list reads the objects of a List or a typed list. Entries of a typed list may omit their kind.
func (r *reader) list(d *document.Document, e *envelope, kind string) {
	if !document.IsList(e.items) {
		if string(e.items) != "null" {
			r.errs = append(r.errs, d.Errorf(document.Path{"items"}, "%s: items: want a list", e.kind))
		}
		return
	}
	pods := 0
	for _, item := range document.Entries(e.items) {
		if inner := envelopeOf(item); inner.kind == "Pod" || inner.kind == "" && kind == "Pod" {
			pods++
		}
	}
	r.manifests.Pods = slices.Grow(r.manifests.Pods, pods)
	for i, item := range document.Entries(e.items) {
		inner := envelopeOf(item)
		if inner.kind == "" && inner.apiVersion == "" {
			inner.kind, inner.apiVersion = kind, e.apiVersion
		}
		r.object(d.Entry(item, "items", i), inner)
	}
}

// object is a pointer to a kind's type.
type object[T any] interface {
	*T
	metav1.Object
}

// kinds lists the kinds that are read, by apiVersion and kind.
var kinds = map[string]func(*reader, *document.Document, *envelope){
	"v1 Pod": kind(
		func(r *reader) *[]corev1.Pod { return &r.manifests.Pods }, true, finishPod,
	),
	"v1 Node": kind(
		func(r *reader) *[]corev1.Node { return &r.manifests.Nodes }, false, finishNode,
	),
	"v1 Namespace": kind(
		func(r *reader) *[]corev1.Namespace { return &r.manifests.Namespaces }, false, nil,
	),
	"v1 LimitRange": kind(
		func(r *reader) *[]corev1.LimitRange { return &r.manifests.LimitRanges }, true, finishLimitRange,
	),
	"v1 ResourceQuota": kind(
		func(r *reader) *[]corev1.ResourceQuota { return &r.manifests.Quotas }, true, nil,
	),
	"v1 Service": kind(
		func(r *reader) *[]corev1.Service { return &r.services }, true, nil,
	),
	"v1 ReplicationController": kind(
		func(r *reader) *[]corev1.ReplicationController { return &r.controllers }, true, finishController,
	),
	"v1 PersistentVolume": kind(
		func(r *reader) *[]corev1.PersistentVolume { return &r.manifests.PersistentVolumes }, false, nil,
	),
	"v1 PersistentVolumeClaim": kind(
		func(r *reader) *[]corev1.PersistentVolumeClaim { return &r.manifests.PersistentVolumeClaims }, true, nil,
	),
	"apps/v1 DaemonSet": kind(
		func(r *reader) *[]appsv1.DaemonSet { return &r.manifests.DaemonSets }, true, finishDaemonSet,
	),
	"apps/v1 Deployment": kind(
		func(r *reader) *[]appsv1.Deployment { return &r.deployments }, true, finishDeployment,
	),
	"apps/v1 StatefulSet": kind(
		func(r *reader) *[]appsv1.StatefulSet { return &r.statefulSets }, true, finishStatefulSet,
	),
	"apps/v1 ReplicaSet": kind(
		func(r *reader) *[]appsv1.ReplicaSet { return &r.replicaSets }, true, finishReplicaSet,
	),
	"batch/v1 Job": kind(
		func(r *reader) *[]batchv1.Job { return &r.jobs }, true, finishJob,
	),
	"scheduling.k8s.io/v1 PriorityClass": kind(
		func(r *reader) *[]schedulingv1.PriorityClass { return &r.priorityClasses }, false, nil,
	),
	"storage.k8s.io/v1 StorageClass": kind(
		func(r *reader) *[]storagev1.StorageClass { return &r.manifests.StorageClasses }, false, finishStorageClass,
	),
	"storage.k8s.io/v1 CSINode": kind(
		func(r *reader) *[]storagev1.CSINode { return &r.manifests.CSINodes }, false, nil,
	),
	api.PodGroupAPIVersion + " " + api.PodGroupKind: kind(
		func(r *reader) *[]api.PodGroup { return &r.manifests.PodGroups }, true, nil,
	),
	"v1 PodTemplate": kind(
		func(r *reader) *[]corev1.PodTemplate { return &r.podTemplates }, true, nil,
	),
	api.CapacityBufferAPIVersion + " " + api.CapacityBufferKind: kind(
		func(r *reader) *[]api.CapacityBuffer { return &r.manifests.Buffers }, true, nil,
	),
	api.CapacityQuotaAPIVersion + " " + api.CapacityQuotaKind: kind(
		func(r *reader) *[]api.CapacityQuota { return &r.manifests.CapacityQuotas }, false, nil,
	),
	api.ProvisioningRequestAPIVersion + " " + api.ProvisioningRequestKind: kind(
		func(r *reader) *[]api.ProvisioningRequest { return &r.manifests.Requests }, true, nil,
	),
	"policy/v1 PodDisruptionBudget": kind(
		func(r *reader) *[]policyv1.PodDisruptionBudget { return &r.manifests.PodDisruptionBudgets }, true, nil,
	),
	api.APIVersion + " " + api.NodePoolKind: kind(
		func(r *reader) *[]api.NodePool { return &r.manifests.NodePools }, false, finishNodePool,
	),
	api.APIVersion + " " + api.NodeClaimKind: kind(
		func(r *reader) *[]api.NodeClaim { return &r.manifests.NodeClaims }, false, finishNodeClaim,
	),
	api.OverlayAPIVersion + " " + api.NodeOverlayKind: kind(
		func(r *reader) *[]api.NodeOverlay { return &r.manifests.NodeOverlays }, false, finishNodeOverlay,
	),
	api.AWSAPIVersion + " " + api.EC2NodeClassKind: kind(
		func(r *reader) *[]api.EC2NodeClass { return &r.manifests.NodeClasses }, false, finishNodeClass,
	),
	legacy.ProvisionerAPIVersion + " " + legacy.ProvisionerKind: kind(
		func(r *reader) *[]legacy.Provisioner { return &r.manifests.Old.Provisioners }, false, nil,
	),
	legacy.AWSNodeTemplateAPIVersion + " " + legacy.AWSNodeTemplateKind: kind(
		func(r *reader) *[]legacy.AWSNodeTemplate { return &r.manifests.Old.Templates }, false, nil,
	),
	legacy.BetaAPIVersion + " " + api.NodePoolKind: kind(
		func(r *reader) *[]legacy.NodePool { return &r.manifests.Old.NodePools }, false, nil,
	),
	legacy.BetaAPIVersion + " " + api.NodeClaimKind: kind(
		func(r *reader) *[]legacy.NodeClaim { return &r.manifests.Old.NodeClaims }, false, nil,
	),
	legacy.AWSBetaAPIVersion + " " + api.EC2NodeClassKind: kind(
		func(r *reader) *[]legacy.EC2NodeClass { return &r.manifests.Old.NodeClasses }, false, nil,
	),
}

// kind reads objects of one kind into their list. finish, which may be nil, completes an object and
// returns its problems.
func kind[T any, P object[T]](
	list func(*reader) *[]T, namespaced bool, finish func(*reader, *document.Document, P) []document.Problem,
) func(*reader, *document.Document, *envelope) {
	return func(r *reader, d *document.Document, e *envelope) {
		var read T
		object := P(&read)
		unknown, err := d.Decode(&read, e.what())
		r.ignore(d, e, unknown)
		var invalid *document.Invalid
		if err != nil && !errors.As(err, &invalid) {
			r.errs = append(r.errs, err)
			return
		}
		if invalid != nil {
			r.errs = append(r.errs, invalid.Unwrap()...)
		}
		if object.GetName() == "" && object.GetGenerateName() != "" {
			object.SetName(fmt.Sprintf("%s%d", object.GetGenerateName(), len(*list(r))))
		}
		if namespaced && object.GetNamespace() == "" {
			object.SetNamespace(metav1.NamespaceDefault)
		}
		object.SetManagedFields(nil)
		enums := checkEnums(&read)
		var problems []document.Problem
		if object.GetName() == "" {
			problems = append(problems, document.Problem{Path: document.Path{"metadata", "name"}, Text: "is missing"})
		} else if len(validation.IsDNS1123Subdomain(object.GetName())) > 0 {
			problems = append(problems, document.Problem{Path: document.Path{"metadata", "name"},
				Text: `want lower case letters, digits, "-" and ".", as in web-1`})
		}
		if finish != nil {
			problems = append(problems, finish(r, d, object)...)
		}
		problems = firstOfEach(problems, enums, invalid)
		for _, problem := range problems {
			r.errs = append(r.errs, d.Errorf(problem.Path, "%s: %s: %s", e.what(), problem.Path, problem.Text))
		}
		d.JSON = nil // has been read, and would be held as long as the place is remembered
		// A wrong object counts where others name it. An error ends the reading all the same.
		if object.GetName() != "" {
			keep(r, list(r), read, d, e, keyOf(read, object.GetNamespace(), object.GetName()))
		}
	}
}

// ignore warns of fields that an object does not have.
func (r *reader) ignore(d *document.Document, e *envelope, unknown []document.Problem) {
	for _, problem := range unknown {
		once(r.unknown, e.kind+" "+withoutIndexes(problem.Path), func() string {
			return d.Errorf(problem.Path, "%s: %s: %s, it is ignored%s", e.what(), problem.Path, problem.Text,
				faults.Question(problem.Near)).Error()
		})
	}
}

// firstOfEach keeps the first problem of each field. It leaves out what may follow from a value that the
// object could not take, and from a wrong word: what is above it, and what is in the same entry of a list.
func firstOfEach(problems, enums []document.Problem, invalid *document.Invalid) []document.Problem {
	told, entries := map[string]bool{}, map[string]bool{}
	tell := func(path document.Path) {
		for i := range path {
			told[path[:i+1].String()] = true
		}
	}
	if invalid != nil {
		for _, path := range invalid.Paths {
			tell(path)
		}
	}
	kept := slices.Clone(enums)
	for _, problem := range enums {
		tell(problem.Path)
		entries[entryOf(problem.Path)] = true
	}
	for _, problem := range problems {
		entry := entryOf(problem.Path)
		if at := problem.Path.String(); !told[at] && (entry == "" || !entries[entry]) {
			kept = append(kept, problem)
			told[at] = true
		}
	}
	return kept
}

// entryOf is the path of the entry of a list that a field is in; empty for a field in none.
func entryOf(path document.Path) string {
	for i := len(path) - 1; i >= 0; i-- {
		if _, index := path[i].(int); index {
			return path[:i+1].String()
		}
	}
	return ""
}

// keyOf identifies an object. Versions of a kind have different types.
func keyOf(object any, namespace, name string) string {
	return reflect.TypeOf(object).String() + " " + namespace + "/" + name
}

// keep appends an object to its list, or replaces an equal one.
func keep[T any](r *reader, list *[]T, read T, d *document.Document, e *envelope, key string) {
	before, again := r.seen[key]
	if !again {
		r.seen[key] = seen{d: d, index: len(*list)}
		*list = append(*list, read)
		return
	}
	r.warnf(d, nil, "%s takes the place of the one at %s:%d", e.what(), before.d.File, before.d.Line(nil))
	r.seen[key] = seen{d: d, index: before.index}
	(*list)[before.index] = read
}

func withoutIndexes(path document.Path) string {
	var keys document.Path
	for _, step := range path {
		if key, ok := step.(string); ok {
			keys = append(keys, key)
		}
	}
	return keys.String()
}
