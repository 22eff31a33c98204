// Package administrator gives install's role the right of a cluster administrator for the time of a deployment, and
// takes it away afterwards. Nothing but a deployment and the removal of the stack needs the right.
//
// Flow: the caller names the cluster. The package reads install's role from Lambda and changes the access policies
// of the role's access entry in EKS. Each step can run twice.
package administrator
