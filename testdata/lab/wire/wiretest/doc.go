// Package wiretest lets tests call local services with the SDK.
package wiretest
