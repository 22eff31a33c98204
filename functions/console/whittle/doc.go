// Command whittle shows a person what Whittle does in a cluster, and what it would do with the
// objects in some files.
//
// Flow: the flags name files or a cluster; packages manifests, instancetypes and objects read them;
// the planner plans; packages report and view print. It only reads, with the rights of the
// kubeconfig. Only install writes: package cfntemplate renders the template of a release, and package
// deploy brings a stack to it.
package main
