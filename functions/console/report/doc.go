// Package report shows a plan to people and programs: as JSON in a stable form, as tables, and as the
// explanation of one pod. It does the same for the moves of consolidation.
//
// It is pure: a plan and its snapshot go in, text comes out. Lists and objects of the JSON forms are
// sorted and never null.
package report
