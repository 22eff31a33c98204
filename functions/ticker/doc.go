// Package ticker is the clock of a cluster's functions. A schedule wakes it once a minute. It sends
// delayed SQS messages that wake provision, lifecycle and disrupt. It sends them until 90 s beyond
// its next run, because EventBridge Scheduler starts a run anywhere in its minute.
//
// It calls neither EC2 nor the cluster. A message that arrives twice is harmless.
package ticker
