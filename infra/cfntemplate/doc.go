// Package cfntemplate makes the CloudFormation template of a cluster from those that a release holds. It
// needs neither the CDK nor Node, so that the command line can install a release.
//
// A release holds a template for each shape: settings such as dryRun add or remove resources, and each
// of their combinations is synthesized once. All of them are for a cluster with a reserved name.
// Render replaces that name, what is made from it, and the placeholders of settings. The result equals
// what the CDK synthesizes for the cluster, except for the place of the functions' code.
//
// CloudFormation's own parameters would not do: the keys of IAM conditions contain the cluster's name,
// and no intrinsic function may stand in a key.
package cfntemplate
