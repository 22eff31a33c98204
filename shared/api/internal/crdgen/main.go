// Command crdgen writes the CustomResourceDefinitions of package api, and of package legacy.
//
// It runs controller-gen on the package's markers. Then it puts the AWS kinds into their own API group
// and narrows the schemas of Kubernetes' types, which markers cannot do. Run it with go generate in
// the package's folder.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/api/legacy"
)

// controllerGen is the generator with its pinned version.
const controllerGen = "sigs.k8s.io/controller-tools/cmd/controller-gen@v0.20.0"

func main() {
	output := flag.String("output", ".", "the folder to write the manifests to")
	resources := flag.String("resources", strings.Join([]string{
		api.NodePoolResource, api.NodeClaimResource, api.EC2NodeClassResource, api.NodeOverlayResource,
		api.CapacityBufferResource,
	}, ","), "the resources of the package, with commas between them")
	flag.Parse()
	if err := run(*output, strings.Split(*resources, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "crdgen:", err)
		os.Exit(1)
	}
}

// run generates the manifests of the package in the current folder.
func run(output string, resources []string) error {
	folder, err := os.MkdirTemp("", "crdgen")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	command := exec.Command("go", "run", controllerGen,
		"crd", "object", "paths=.", "output:crd:dir="+folder, "output:object:dir=.")
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("running %s: %w", controllerGen, err)
	}
	if err := os.MkdirAll(output, 0o755); err != nil {
		return err
	}
	for _, resource := range resources {
		if err := write(folder, output, resource); err != nil {
			return fmt.Errorf("writing the definition of %s: %w", resource, err)
		}
	}
	return nil
}

// write amends one definition and writes it to GROUP_RESOURCE.yaml in the output folder.
func write(folder, output, resource string) error {
	source := filepath.Join(folder, api.Group+"_"+resource+".yaml")
	text, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	var crd map[string]any
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return fmt.Errorf("reading %s: %w", source, err)
	}
	group := api.Group
	if resource == api.EC2NodeClassResource || resource == legacy.AWSNodeTemplateResource {
		group = api.AWSGroup
	}
	if resource == api.CapacityBufferResource {
		group = api.AutoscalingGroup
	}
	if err := amend(crd, resource, group); err != nil {
		return err
	}
	if err := describe(crd, resource); err != nil {
		return err
	}
	amended, err := yaml.Marshal(crd)
	if err != nil {
		return err
	}
	amended = append([]byte("# Generated from shared/api by go generate. Change the types there.\n"), amended...)
	target := filepath.Join(output, group+"_"+resource+".yaml")
	if old, err := os.ReadFile(target); err == nil && bytes.Equal(old, amended) {
		return nil
	}
	return os.WriteFile(target, amended, 0o644)
}
