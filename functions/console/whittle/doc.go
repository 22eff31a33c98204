// Command whittle shows a person what Whittle does in a cluster, and what it would do with the
// objects in some files.
//
// Flow: the flags name files or a cluster; packages manifests, instancetypes and objects read them;
// the planner plans; packages report and view print. It only reads, with the rights of the
// kubeconfig.
package main
