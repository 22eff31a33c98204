// Package kubelet decides what the kubelet of one node does with its pods: whom it admits, what
// each pod's status is, when a pod has ended, and when to look again.
//
// It has no clock, no client and no randomness. The laboratory's kubelets call it: the machines of
// the local world and those of the simulation. They give it the time, the Node and the pods, and
// write what it says. A pod's changes happen at their own times, so that looking later or more
// often leads to the same.
//
// The rules are those of Kubernetes 1.36 (pkg/kubelet: lifecycle/predicate.go, prober/worker.go,
// kuberuntime/kuberuntime_container.go) and of its documents about the pod's lifecycle. What
// programs do in containers, annotations say: see [RunFor] and its neighbours. It leaves out pod
// resize, static pods, preemption by critical pods, and the restart rules of single containers.
package kubelet
