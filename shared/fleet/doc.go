// Package fleet is the EC2 edge: it launches, lists and ends instances, and
// reads what an EC2NodeClass selects. It decides nothing: what to launch comes
// as a launch.Request, what was found goes out as plain values.
package fleet
