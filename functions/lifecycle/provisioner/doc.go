// Package provisioner decides what becomes of Provisioners and AWSNodeTemplates, the kinds before
// NodePool and EC2NodeClass. Each Provisioner has a NodePool and an EC2NodeClass of its name, which
// it owns: the garbage collector of Kubernetes removes them with it.
//
// It is pure. Its input is the old objects and the pools and classes of the cluster, its output the
// objects and statuses to write, and events. Package legacy converts.
package provisioner
