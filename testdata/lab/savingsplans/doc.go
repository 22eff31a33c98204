// Package savingsplans is the AWS Savings Plans API of the local AWS (REST JSON), as far as people
// who read plans need it: DescribeSavingsPlans and DescribeSavingsPlanRates. A test or a command
// buys the plans.
//
// As in AWS, an answer has the plans of all regions and in all states unless the request says
// otherwise, numbers are strings, and a page's token leads to the next one. The rates are a part of
// the on-demand prices of package builtin, for Linux and Windows, shared and dedicated, used and
// reserved but unused.
//
// The package refuses by name a filter or a parameter that it does not hold.
//
// https://docs.aws.amazon.com/savingsplans/latest/APIReference/
package savingsplans
