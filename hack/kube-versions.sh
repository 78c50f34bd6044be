#!/bin/sh
# Tests the root module against each Kubernetes minor that is supported upstream. go.mod asks for the oldest, so that
# importing fieldlock forces no upgrade; whoever uses a newer one builds fieldlock with that.
#
#   hack/kube-versions.sh                     all of them
#   hack/kube-versions.sh 0.36.3 ./listtype    one of them, some packages
#
# Each minor gets a go.mod of its own in a temporary directory; the work tree stays as it is. A minor that needs a newer
# Go than the installed one is an error, not a reason to skip it.
set -eu
cd "$(dirname "$0")/.."

versions="0.35.0 0.36.3 0.37.2"
if [ $# -gt 0 ]; then
	versions=$1
	shift
fi
[ $# -gt 0 ] || set -- ./...

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM

failed=""
for version in $versions; do
	echo "== Kubernetes $version"
	mod="$dir/$version.mod"
	cp go.mod "$mod"
	cp go.sum "$dir/$version.sum"
	modules=""
	for module in api apiextensions-apiserver apimachinery apiserver; do
		modules="$modules k8s.io/$module@v$version"
	done
	# shellcheck disable=SC2086 # a list of modules
	if go get -modfile="$mod" $modules && go mod tidy -modfile="$mod" && go vet -modfile="$mod" "$@" && go test -modfile="$mod" "$@"; then
		grep -E '^\s*(go|k8s.io/(api|apimachinery)) ' "$mod" || true
	else
		failed="$failed $version"
	fi
done
if [ -n "$failed" ]; then
	echo "failed against Kubernetes:$failed" >&2
	exit 1
fi
