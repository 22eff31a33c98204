// Package catalog turns what EC2 says about instance types, zones and prices (a Snapshot) into what the planner needs: for one EC2NodeClass, the
// instance types that its nodes can be, with their labels, what pods may use of them, and the offerings that can be bought now. It is pure: the edge
// that calls EC2 fills the Snapshot.
package catalog
