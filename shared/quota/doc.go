// Package quota counts virtual pods against the ResourceQuotas of their namespaces. The API server counts
// real pods only, so that a tenant's buffers and requests would buy nodes beyond what the tenant may use.
// It is pure, above package scheduling and below the readers of buffers and requests.
//
// Quotas with scopes are for some pods only, by their class or their deadline, and do not count here.
package quota
