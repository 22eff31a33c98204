// Package eks is the EKS of the local AWS. Clusters that run elsewhere are registered with it.
// Access entries map IAM principals to users and groups. A webhook stands in for EKS' authenticator
// in the clusters' API servers.
//
// EKS evaluates access policies in its own authorizer beside RBAC. The local control planes have no
// such authorizer. So AmazonEKSClusterAdminPolicy puts its principal into the group system:masters,
// and no other policy can be associated.
package eks
