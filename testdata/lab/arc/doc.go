// Package arc is Amazon Application Recovery Controller of the local AWS, as far as zonal shifts of
// EKS clusters need it. It answers GetManagedResource, StartZonalShift, CancelZonalShift and
// ListZonalShifts. It moves no traffic: EKS's part, which taints the nodes of the zone, is missing.
package arc
