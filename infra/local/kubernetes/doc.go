// Package kubernetes runs a real Kubernetes control plane for the local run and for tests: etcd, kube-apiserver,
// kube-scheduler and kube-controller-manager in one process on 127.0.0.1, set up as Amazon EKS sets up its own where
// that matters to Whittle (node authorizer and restriction, bearer tokens checked by a webhook, service addresses,
// cluster DNS).
//
// Build compiles the binary from the nested module testdata/controlplane, once for each version of it. Start runs one;
// as many as wanted run beside each other. The process ends when Stop is called and also when its parent dies, however
// it dies. There is no kubelet and no cloud controller manager: who simulates the machines registers their nodes,
// reports their pods, and deletes the nodes of terminated instances.
//
// It runs where Go and flock do: Linux and macOS.
package kubernetes
