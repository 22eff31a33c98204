package main

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// cluster is the installation for one EKS cluster. Two clusters share nothing: neither queue nor role nor function.
type cluster struct {
	scope constructs.Construct
	// name is the EKS cluster's.
	name string
	// prefix begins each physical name.
	prefix        string
	configuration configuration
}

// newCluster adds everything that one cluster needs to scope.
//
// The install function writes the cluster's custom resource definitions and roles, with the rights that its access entry
// gives. What wakes the other functions waits for it, so that none of them meets a cluster that does not know it yet; and
// since CloudFormation deletes in the reverse order, none is woken when the rights are gone.
func newCluster(scope constructs.Construct, name string, configuration configuration) {
	c := &cluster{
		scope:         constructs.NewConstruct(scope, jsii.String(name)),
		name:          name,
		prefix:        physicalPrefix(name),
		configuration: configuration,
	}
	nodes := newNodeRole(c)
	queues := newQueues(c)
	functions := newFunctions(c, queues, nodes)
	entries := newAccessEntries(c, functions, nodes)
	install := newInstall(c, functions, entries)
	newRules(c, queues.interrupt, install)
	newSchedules(c, functions, install)
}

// maximumPrefix leaves room for the longest function's name, -interrupt, within Lambda's 64 characters.
const maximumPrefix = 64 - len("-interrupt")

// physicalPrefix gives the beginning of a cluster's physical names. EKS allows longer names than Lambda: a long one is cut,
// and a hash keeps two long names with the same beginning apart.
func physicalPrefix(name string) string {
	prefix := "whittle-" + name
	if len(prefix) <= maximumPrefix {
		return prefix
	}
	hash := sha256.Sum256([]byte(name))
	suffix := "-" + hex.EncodeToString(hash[:4])
	return prefix[:maximumPrefix-len(suffix)] + suffix
}

// physicalName gives the name under which AWS knows a function, queue or schedule of the cluster.
func (c *cluster) physicalName(part string) *string {
	return jsii.String(c.prefix + "-" + part)
}
