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
// The same file has the settings of the project:
//
//	mode: advisory
//
// Nothing in the file can run a command or name another file.
package accept
