// Package apiproxy stands between programs and an API server, and lets its watch cache lag.
//
// An API server answers a read with resourceVersion=0 from its watch cache, which may be behind
// what was written. It answers every other read as of now. A test's API server is idle, so that its
// watch cache is up to date within milliseconds. Lag makes it as old as the caller wants: it asks
// for the exact version of an earlier time.
//
// It assumes one store for all kinds, so that a version of one kind is a version of every kind, and
// that the store keeps the version, which it does for five minutes or more.
package apiproxy
