// Package nodeclass computes what an instance of an EC2NodeClass is launched with: the class's
// status, the user data of its nodes, and the content of its launch templates.
//
// Its place: package fleet reads EC2's facts, lifecycle and provision resolve the class through
// package classes, and package launch builds requests from Template.
//
// Invariants:
//   - Its functions are pure and change no argument.
//   - Equal contents of a launch template have equal names, so each invocation finds the template
//     that another one made.
//   - Each condition has one owner at a time. Resolve writes all conditions of a class. Refuse sets
//     one of them to False after EC2 refused a launch, and Resolve keeps that until it is outdated.
//   - Hash equals the hash of Karpenter v1.15, so that moving in or out causes no drift.
package nodeclass
