// Package nodeclass turns an EC2NodeClass into what an instance is launched
// with: the resolved subnets, groups and images in its status, the user data of
// its nodes and the content of a launch template. It is pure: EC2's facts come
// in as values, shared/fleet reads them.
package nodeclass
