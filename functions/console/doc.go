// Package console gives the function behind a CloudWatch custom widget. It shows a cluster's nodes,
// prices, pending pods and last plan.
//
// Flow: package objects reads the cluster, package view computes the view, package widget renders it
// as HTML. It only reads.
package console
