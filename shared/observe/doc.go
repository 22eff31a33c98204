// Package observe reads from the API server the objects that a plan is made from. It is an edge
// package: package snapshot puts the objects together, and the planner decides.
//
// All lists of one call run at once. They are served from the API server's watch cache, so that the
// objects may be a moment old.
package observe
