// Package eks is the EKS of the local AWS: clusters that run elsewhere are registered with it, access entries say which IAM principal is who in
// them, and a webhook gives the clusters' API servers what EKS' own authenticator gives them.
//
// EKS evaluates access policies in an authorizer of its own beside RBAC. The local control planes have no such authorizer, so that
// AmazonEKSClusterAdminPolicy puts its principal into the group system:masters instead; no other policy can be associated.
package eks
