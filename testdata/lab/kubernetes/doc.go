// Package kubernetes runs a real Kubernetes control plane for the local run and for tests: etcd,
// kube-apiserver, kube-scheduler and kube-controller-manager in one process on 127.0.0.1. It is
// configured as Amazon EKS configures its own where that matters to Whittle: node authorizer and
// restriction, bearer tokens checked by a webhook, service addresses, cluster DNS.
//
// Build compiles the binary from the nested module testdata/controlplane, once for each version of
// it. The module requires one version of Kubernetes in go.mod, and others in go-1.35.mod and the
// like. Start runs one; several can run side by side. The process ends when Stop is called or its
// parent dies. There is no kubelet and no cloud controller manager: the simulator of the machines
// registers their nodes, reports their pods, and deletes the nodes of terminated instances.
//
// It runs on Linux and macOS, which have flock.
package kubernetes
