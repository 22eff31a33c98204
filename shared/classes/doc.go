// Package classes keeps the statuses of EC2NodeClasses. It reads what a class selects from EC2,
// lets the package nodeclass decide on the status, and writes it. Provision resolves classes that
// are new or not ready. Lifecycle resolves all classes each minute.
package classes
