// Package observe reads from the API server the objects that a plan is made from. It is an edge
// package: package snapshot puts the objects together, and the planner decides.
//
// All lists of one call run at once. The API server's watch cache serves most of them, so that these
// objects may be a moment old. A consistent client reads past it.
package observe
