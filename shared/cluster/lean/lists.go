package lean

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The numbers of fields are those of k8s.io/api/core/v1/generated.proto and
// k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto. A field keeps its number for ever.
const (
	listMeta, listItems                  = 1, 2
	envelopeRaw                          = 2
	objectMeta, objectSpec, objectStatus = 1, 2, 3

	metaName, metaNamespace, metaVersion                        = 1, 3, 6
	metaGenerateName, metaSelfLink, metaLabels, metaAnnotations = 2, 4, 11, 12
	metaOwnerReferences, metaManagedFields                      = 13, 17

	specVolumes, specContainers, specNodeName, specInitContainers = 1, 2, 10, 20
	statusConditions, statusContainers, statusInitContainers      = 2, 8, 10
	statusState, statusLastState                                  = 2, 3
	nodeImages                                                    = 8
)

// magic begins every answer of the API server in Protocol Buffers.
var magic = []byte("k8s\x00")

// IsProtobuf reports whether an answer of the API server is in Protocol Buffers.
func IsProtobuf(body []byte) bool { return bytes.HasPrefix(body, magic) }

// list visits the items of a list, and returns its metadata.
func list(body []byte, item func([]byte) error) (metav1.ListMeta, error) {
	var meta metav1.ListMeta
	envelope, found := bytes.CutPrefix(body, magic)
	if !found {
		return meta, errors.New("the answer is not in Protocol Buffers")
	}
	err := each(envelope, func(f field) error {
		if f.number != envelopeRaw {
			return nil
		}
		return each(f.bytes, func(f field) error {
			switch f.number {
			case listMeta:
				return meta.Unmarshal(f.bytes)
			case listItems:
				return item(f.bytes)
			}
			return nil
		})
	})
	return meta, err
}

// nodes keeps of a node what functions read.
func nodes() shape {
	return shape{within: map[int]shape{
		objectMeta: {drop: set(metaManagedFields)},
		// volumesInUse, volumesAttached, runtimeHandlers, features
		objectStatus: {drop: set(nodeImages, 9, 10, 12, 13)},
	}}
}

// Nodes decodes a NodeList, and returns its metadata.
func Nodes(body []byte) (found []corev1.Node, meta metav1.ListMeta, err error) {
	kept := nodes()
	var pruned []byte
	meta, err = list(body, func(item []byte) error {
		var err error
		if pruned, err = kept.prune(pruned[:0], item); err != nil {
			return err
		}
		var node corev1.Node
		err = node.Unmarshal(pruned)
		found = append(found, node)
		return err
	})
	if err != nil {
		return nil, metav1.ListMeta{}, fmt.Errorf("decoding nodes: %w", err)
	}
	return found, meta, nil
}

// Items visits the encoded objects of a list, and returns its metadata. The bytes are part of the
// body.
func Items(body []byte, visit func(item []byte)) (metav1.ListMeta, error) {
	return list(body, func(item []byte) error {
		visit(item)
		return nil
	})
}

// Node decodes one of the items of a NodeList.
func Node(item []byte, into *corev1.Node) error {
	pruned, err := nodes().prune(nil, item)
	if err != nil {
		return err
	}
	return into.Unmarshal(pruned)
}

// annotationDomains are the domains of the annotations that are kept of pods. Others may be long,
// such as the last applied configuration.
var annotationDomains = []string{
	"autoscaling.x-k8s.io", "karpenter.sh", "whittle.dev", "cluster-autoscaler.kubernetes.io",
	"controller.kubernetes.io", "kubernetes.io", "kueue.x-k8s.io",
}

// isRead reports whether functions read a pod's annotation.
func isRead(entry []byte) bool {
	domain, _, _ := strings.Cut(text(entry, 1), "/")
	return slices.Contains(annotationDomains, domain)
}

// isVolumeRead reports whether a volume may need something of a node. Configuration, secrets and
// tokens do not.
func isVolumeRead(volume []byte) bool {
	const source, secret, downward, configuration, projected = 2, 6, 16, 19, 26
	read := true
	_ = each(volume, func(f field) error {
		if f.number == source {
			read = !has(f.bytes, secret, downward, configuration, projected)
		}
		return nil
	})
	return read
}

// isConditionRead reports whether functions read the condition of a pod.
func isConditionRead(condition []byte) bool {
	switch corev1.PodConditionType(text(condition, 1)) {
	case corev1.PodInitialized, corev1.ContainersReady, corev1.PodReadyToStartContainers:
		return false
	}
	return true
}

// PodDecoder decodes the pages of a list of pods. The parts that pods share live as long as the
// pods.
type PodDecoder struct {
	meta, spec, status shape
	specs              map[string]*corev1.PodSpec
	metas              map[string]*metav1.ObjectMeta
	statuses           map[string]*corev1.PodStatus
	names              map[string]string

	pruned, own, common []byte // reused
}

// mostShared bounds the parts that are remembered for pods to come. Pods beyond it share less.
const mostShared = 10_000

// NewPodDecoder returns a decoder for one list.
func NewPodDecoder() *PodDecoder {
	// Of a container: command, args, workingDir, env, volumeMounts, probes, lifecycle, termination
	// messages, imagePullPolicy, securityContext, envFrom, volumeDevices.
	container := shape{drop: set(3, 4, 5, 7, 9, 10, 11, 12, 13, 14, 15, 19, 20, 21, 22)}
	// Of a container's status its name, its resources, and what tells of a container that does not stay up:
	// the reason for which it waits, the number of its restarts, and when it last ended.
	state := shape{drop: set(2, 3), within: map[int]shape{1: {drop: set(2)}}}
	lastState := shape{drop: set(1, 2), within: map[int]shape{3: {drop: set(1, 2, 3, 4, 5, 7)}}}
	containerStatus := shape{
		drop:   set(4, 6, 7, 8, 9, 12, 13, 14, 15),
		within: map[int]shape{statusState: state, statusLastState: lastState},
	}
	return &PodDecoder{
		meta: shape{
			drop: set(metaGenerateName, metaSelfLink, metaManagedFields),
			keep: map[int]func([]byte) bool{metaAnnotations: isRead},
		},
		spec: shape{
			// securityContext, imagePullSecrets, hostname, subdomain, hostAliases, dnsConfig, readinessGates,
			// ephemeralContainers
			drop:   set(14, 15, 16, 17, 23, 26, 28, 34, specNodeName),
			within: map[int]shape{specContainers: container, specInitContainers: container},
			keep:   map[int]func([]byte) bool{specVolumes: isVolumeRead},
		},
		status: shape{
			// message, addresses, ephemeral containers, claims
			drop:   set(3, 5, 6, 12, 13, 15, 16),
			within: map[int]shape{statusContainers: containerStatus, statusInitContainers: containerStatus},
			keep:   map[int]func([]byte) bool{statusConditions: isConditionRead},
		},
		specs: map[string]*corev1.PodSpec{}, metas: map[string]*metav1.ObjectMeta{},
		statuses: map[string]*corev1.PodStatus{}, names: map[string]string{},
	}
}

// Page decodes a page, a PodList, and returns its metadata.
func (d *PodDecoder) Page(body []byte) (found []corev1.Pod, meta metav1.ListMeta, err error) {
	meta, err = list(body, func(item []byte) error {
		pod, err := d.pod(item)
		found = append(found, pod)
		return err
	})
	if err != nil {
		return nil, metav1.ListMeta{}, fmt.Errorf("decoding pods: %w", err)
	}
	return found, meta, nil
}

// pod decodes a pod: its own fields, then those that it shares.
func (d *PodDecoder) pod(item []byte) (pod corev1.Pod, err error) {
	err = each(item, func(f field) error {
		switch f.number {
		case objectMeta:
			return d.decodeMeta(f.bytes, &pod)
		case objectSpec:
			return d.decodeSpec(f.bytes, &pod)
		case objectStatus:
			return d.decodeStatus(f.bytes, &pod)
		}
		return nil
	})
	return pod, err
}

func (d *PodDecoder) decodeMeta(message []byte, pod *corev1.Pod) error {
	if err := d.split(d.meta, message, metaLabels, metaAnnotations, metaOwnerReferences); err != nil {
		return err
	}
	common, err := shared(d.metas, d.common, (*metav1.ObjectMeta).Unmarshal)
	if err != nil {
		return err
	}
	if err := pod.ObjectMeta.Unmarshal(d.own); err != nil {
		return err
	}
	pod.Namespace = d.intern(pod.Namespace)
	pod.Labels, pod.Annotations, pod.OwnerReferences = common.Labels, common.Annotations, common.OwnerReferences
	return nil
}

func (d *PodDecoder) decodeSpec(message []byte, pod *corev1.Pod) (err error) {
	if d.pruned, err = d.spec.prune(d.pruned[:0], message); err != nil {
		return err
	}
	common, err := shared(d.specs, d.pruned, (*corev1.PodSpec).Unmarshal)
	if err != nil {
		return err
	}
	pod.Spec = *common
	pod.Spec.NodeName = d.intern(text(message, specNodeName))
	return nil
}

func (d *PodDecoder) decodeStatus(message []byte, pod *corev1.Pod) error {
	if err := d.split(d.status, message, statusContainers, statusInitContainers); err != nil {
		return err
	}
	common, err := shared(d.statuses, d.common, (*corev1.PodStatus).Unmarshal)
	if err != nil {
		return err
	}
	if err := pod.Status.Unmarshal(d.own); err != nil {
		return err
	}
	pod.Status.Phase = corev1.PodPhase(d.intern(string(pod.Status.Phase)))
	pod.Status.QOSClass = corev1.PodQOSClass(d.intern(string(pod.Status.QOSClass)))
	pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses = common.ContainerStatuses, common.InitContainerStatuses
	return nil
}

// split prunes a message, and puts the fields of the numbers into common and the others into own.
func (d *PodDecoder) split(s shape, message []byte, numbers ...int) (err error) {
	if d.pruned, err = s.prune(d.pruned[:0], message); err != nil {
		return err
	}
	d.own, d.common = d.own[:0], d.common[:0]
	return each(d.pruned, func(f field) error {
		if slices.Contains(numbers, f.number) {
			d.common = append(d.common, f.whole...)
		} else {
			d.own = append(d.own, f.whole...)
		}
		return nil
	})
}

// shared returns what the message decodes to: the known value of an equal message, or a new one.
func shared[T any](known map[string]*T, message []byte, unmarshal func(*T, []byte) error) (*T, error) {
	if found := known[string(message)]; found != nil {
		return found, nil
	}
	made := new(T)
	if err := unmarshal(made, message); err != nil {
		return nil, err
	}
	if len(known) < mostShared {
		known[string(message)] = made
	}
	return made, nil
}

// intern returns one copy of equal strings.
func (d *PodDecoder) intern(text string) string {
	if found, known := d.names[text]; known {
		return found
	}
	d.names[text] = text
	return text
}
