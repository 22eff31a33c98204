// Package claims writes planned nodes as NodeClaims. It is the planner's last stage.
//
// Each claim keeps all alternatives of its node that a launch may use, at most 60 instance types of
// one capacity type. EC2 can then choose where it has capacity. A claim's requirements allow exactly
// those alternatives, so that every node it can become holds the planned pods. Claims share lists
// and maps, except for annotations.
package claims
