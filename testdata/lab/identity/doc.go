// Package identity is the local AWS's IAM and STS: roles, policies, instance profiles, sessions and
// their keys. It decides whether a role may make a call.
//
// There is one operator, whose key may do everything. CloudFormation and the IAM API create roles.
// A role's sessions get keys from AssumeRole. Session returns keys for a function or an instance
// that acts for the role. Policies are evaluated as IAM evaluates identity policies: an explicit
// Deny wins, otherwise an Allow is needed.
package identity
