package world

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/testdata/lab/apiproxy"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/eks"
	"github.com/whittle-dev/whittle/testdata/lab/lambda"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
)

// register announces the control plane to EKS, EC2 and the cloud controller.
func (w *World) register() error {
	version := minor(w.ControlPlane.Version)
	w.EC2.RegisterCluster(w.options.Cluster, version)
	endpoint, authority := w.ControlPlane.Endpoint, w.ControlPlane.CertificateAuthority
	if w.options.CacheLag > 0 || w.options.Latency.APIServer > 0 {
		proxy, err := apiproxy.Serve(w.RESTConfig(),
			apiproxy.Options{Behind: w.options.CacheLag, Answer: w.options.Latency.APIServer})
		if err != nil {
			return err
		}
		w.closers = append(w.closers, proxy.Close)
		w.proxy, endpoint, authority = proxy, proxy.URL, proxy.Authority
	}
	if err := w.Machines.RegisterCluster(w.options.Cluster, w.RESTConfig(), endpoint, authority); err != nil {
		return err
	}
	if w.options.Front != nil {
		var err error
		if endpoint, authority, err = w.options.Front(endpoint, authority); err != nil {
			return err
		}
	}
	w.ARC.Enrol("arn:aws:eks:" + Region + ":" + AccountID + ":cluster/" + w.options.Cluster)
	return w.clusters.RegisterCluster(eks.Cluster{
		Name: w.options.Cluster, Endpoint: endpoint, CertificateAuthority: authority,
		Version: version, ServiceCIDR: w.ControlPlane.ServiceCIDR,
	})
}

// OldReads returns how many reads were answered with what was in the cluster some time before; 0
// without CacheLag.
func (w *World) OldReads() int {
	if w.proxy == nil {
		return 0
	}
	return w.proxy.Answered()
}

// minor turns v1.36.3 into 1.36.
func minor(version string) string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// Scenario prepares the setup of scenarios. Their timeline prints to out.
func (w *World) Scenario(out io.Writer) (scenario.Setup, error) {
	client, err := scenario.NewClient(w.RESTConfig())
	if err != nil {
		return scenario.Setup{}, err
	}
	reader, err := cluster.NewForConfig(cluster.Endpoint{Name: w.options.Cluster, URL: w.ControlPlane.Endpoint},
		w.RESTConfig())
	if err != nil {
		return scenario.Setup{}, err
	}
	return scenario.Setup{
		World: w, Client: client, Cluster: reader, Name: w.options.Cluster, Root: w.options.Root,
		Timeline: scenario.NewTimeline(out),
	}, nil
}

// NodeRole returns the node role that the stack created.
func (w *World) NodeRole() (string, error) { return w.output("NodeRoleName") }

// NodeProfile returns the instance profile of that role.
func (w *World) NodeProfile() (string, error) { return w.output("NodeInstanceProfileName") }

// output returns the output of the stack whose key contains a text.
func (w *World) output(part string) (string, error) {
	outputs, err := w.stacks.Outputs(w.stack())
	if err != nil {
		return "", err
	}
	for key, value := range outputs {
		if strings.Contains(key, part) {
			return value, nil
		}
	}
	return "", fmt.Errorf("stack %s has no output %s among %v", w.stack(), part, outputs)
}

// Interrupt warns a spot instance and reclaims it after a time.
func (w *World) Interrupt(instanceID string, after time.Duration) error {
	return w.EC2.Interrupt(instanceID, after)
}

// Invocations returns the functions' invocations so far.
func (w *World) Invocations() []lambda.Invocation { return w.Lambda.Invocations() }

// Instances returns the instances, also those that have ended.
func (w *World) Instances() []ec2.Instance { return w.EC2.Instances() }

// InstancesAlive counts the instances that have not ended.
func (w *World) InstancesAlive() int {
	alive := 0
	for _, instance := range w.EC2.Instances() {
		if instance.State != ec2.Terminated {
			alive++
		}
	}
	return alive
}

// Prices returns the price of each instance that has not ended, in dollars an hour, by ID.
func (w *World) Prices() map[string]float64 {
	prices := map[string]float64{}
	for _, instance := range w.EC2.Instances() {
		if instance.State != ec2.Terminated {
			prices[instance.ID] = instance.PricePerHour
		}
	}
	return prices
}

// LaunchTimes returns the launch time of each instance, by ID.
func (w *World) LaunchTimes() map[string]time.Time {
	times := map[string]time.Time{}
	for _, instance := range w.EC2.Instances() {
		times[instance.ID] = instance.Launched
	}
	return times
}

// FunctionLog returns the lines that a function has logged.
func (w *World) FunctionLog(function string) []string {
	var lines []string
	for _, event := range w.logs.Events("/aws/lambda/whittle-" + w.options.Cluster + "-" + function) {
		lines = append(lines, event.Message)
	}
	return lines
}

// Directory is where the world keeps its state and logs.
func (w *World) Directory() string { return w.options.Directory }

// Quickstart writes the first NodePool and EC2NodeClass for this world into a file and returns its
// path.
func (w *World) Quickstart() (string, error) {
	role, err := w.NodeRole()
	if err != nil {
		return "", err
	}
	text, err := scenario.Manifest(filepath.Join(w.options.Root, "testdata", "manifests", "fast.yaml"),
		map[string]string{
			"CLUSTER_NAME": w.options.Cluster, "NODE_ROLE": role,
		})
	if err != nil {
		return "", err
	}
	file := filepath.Join(w.options.Directory, "fast.yaml")
	return file, os.WriteFile(file, []byte(text), 0o644)
}
