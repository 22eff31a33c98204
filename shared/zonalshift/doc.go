// Package zonalshift reads which zones ARC shifts a cluster's traffic away from. Functions that
// launch or end nodes ask before they do, so a shift takes effect within seconds. What they read is
// kept beside the unavailable offerings, where plans, the console and people find it.
//
// https://docs.aws.amazon.com/r53recovery/latest/dg/arc-zonal-shift.resource-types.eks.html
package zonalshift
