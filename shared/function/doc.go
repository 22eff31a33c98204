// Package function is what every Lambda function of Whittle has in common: its
// settings, its log, how it is started by Lambda or by hand, how it connects to
// its cluster, and how it answers a batch of queue messages.
package function
