// Package quotas is a fake of Service Quotas for one account and region. It knows the quotas that
// were set, and no other. https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/
package quotas
