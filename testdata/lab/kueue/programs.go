package kueue

import "github.com/whittle-dev/whittle/testdata/lab/gomodule"

// Controller is a program that this package builds and runs.
type Controller struct {
	name            string // of its binary's folder and its files
	module, program string // the program's import path
	patch           gomodule.Patch
	// called are parts of the paths of the webhooks that the API server calls. Those for pods are
	// left out, because no pod may wait for them.
	called    []string
	arguments []string
	// version is the configuration's, and settings are what it has beside those of both programs.
	version, settings string
}

// Namespace is where the controller keeps its own objects.
func (c *Controller) Namespace() string { return c.name + "-system" }

// Kueue admits Jobs and JobSets that its queues have room for.
func Kueue() *Controller {
	const module = "sigs.k8s.io/kueue"
	return &Controller{
		name: "kueue", module: module, program: module + "/cmd/kueue",
		// The metrics have the certificate of the webhooks. Otherwise the controller exits without
		// certificates below /etc.
		patch: gomodule.Patch{
			Module: module, File: "cmd/kueue/main.go", Old: `metricsCertPath := "/etc/kueue/metrics/certs"`,
			New: "metricsCertPath := cfg.Webhook.CertDir",
		},
		called: []string{"-kueue-x-k8s-io-", "-batch-v1-job", "-jobset-x-k8s-io-"},
		// Otherwise it serves an aggregated API with certificates that it does not find.
		arguments: []string{"--feature-gates=VisibilityOnDemand=false"},
		version:   "config.kueue.x-k8s.io/v1beta2",
		settings:  "namespace: kueue-system\nintegrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset]}\n",
	}
}

// JobSet makes the Jobs of JobSets.
func JobSet() *Controller {
	const module = "sigs.k8s.io/jobset"
	return &Controller{
		name: "jobset", module: module, program: module, called: []string{"-jobset-x-k8s-io-"},
		version: "config.jobset.x-k8s.io/v1alpha1",
	}
}
