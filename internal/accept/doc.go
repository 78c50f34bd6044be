// Package accept reads and writes lists of findings that somebody has accepted, as the file .fieldlock.yaml has them:
//
//	accept:
//	- object: shop/orders
//	  kind: StatefulSet
//	  path: spec.serviceName
//	  rule: immutable
//	  reason: the database moves on Friday, see OPS-12
//	  until: "2026-12-31"
//
// The file has other settings too, see package settings.
package accept
