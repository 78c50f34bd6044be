// Package jsonscan reads JSON without building its values: a Text is one text, a Pair two versions of one, side by side.
//
// Equal bytes at the same place of the grammar are equal values. So a Pair scans the new text only, for as long as the
// old one has the same bytes, and each on its own where they differ, until both are at the same place again. Every byte
// of both texts is either scanned or equal to a scanned one: what a Pair takes without Failed, k8s.io/apimachinery's
// util/json decodes without an error, and the other way round.
//
// The texts are not changed.
package jsonscan
