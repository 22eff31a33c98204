package main

import (
	"flag"
	"fmt"
	"io"

	"github.com/whittle-dev/whittle/functions/console/conversion"
	"github.com/whittle-dev/whittle/shared/api/legacy"
)

// convert prints the objects of files as manifests of karpenter.sh/v1.
func convert(arguments []string, in io.Reader, out, problems io.Writer) error {
	var files []string
	var settings legacy.Settings
	flags := flag.NewFlagSet("whittle convert", flag.ContinueOnError)
	flags.Func("f", "`file` of manifests, a folder of them, or - for standard input; repeatable", func(name string) error {
		files = append(files, name)
		return nil
	})
	flags.StringVar(
		&settings.ClusterName, "cluster-name", "",
		"`name` of the cluster, for subnets and security groups by its tag (default "+legacy.UnknownCluster+")",
	)
	flags.StringVar(
		&settings.KubernetesVersion, "kubernetes-version", "",
		"the cluster's `version`, such as 1.31, which has images of AL2 (default: a version without)",
	)
	flags.StringVar(
		&settings.InstanceProfile, "instance-profile", "",
		"`name` of the instance profile of templates without one, Karpenter's setting aws.defaultInstanceProfile "+
			"(default: the role "+legacy.UnknownRole+")",
	)
	if err := parse(flags, arguments, problems); err != nil {
		return err
	}
	if len(files) == 0 {
		return usageProblem(problems, "whittle convert: name files with -f%s", asFile(flags.Args()))
	}
	files = append(files, flags.Args()...) // -f *.yaml
	result, err := conversion.Convert(files, in, settings)
	if err != nil {
		return err
	}
	if _, err := out.Write(result.Text); err != nil {
		return err
	}
	for _, change := range result.Blocking {
		warn(problems, change.String())
	}
	if n := len(result.Blocking); n > 0 {
		return fmt.Errorf("%d changes are left to you: see the comments that begin with CHANGE THIS", n)
	}
	return nil
}
