// Package ssm is the local AWS's Systems Manager Parameter Store: named values that stacks, other
// simulated services and clients put in and read. It keeps each name's newest version.
package ssm
