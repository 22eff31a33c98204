// Package identity is the local AWS's IAM and STS: roles with their policies, instance profiles, sessions and the keys
// behind them, and the question whether a role may do what a call asks for.
//
// There is one operator, whose key may do everything, and there are roles. A role is made by CloudFormation or by the IAM API;
// its sessions get keys by AssumeRole, or from Session for whoever runs on the role's behalf (a function, an instance).
// Policies are evaluated as IAM does it for identity policies: an explicit Deny wins, else an Allow is needed.
package identity
