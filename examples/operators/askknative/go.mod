module github.com/fieldlock/fieldlock/examples/operators/askknative

go 1.26.0

require (
	github.com/fieldlock/fieldlock/examples/operators/ask v0.0.0
	knative.dev/pkg v0.0.0-20260622140654-39ebae2ee2dc
)

replace github.com/fieldlock/fieldlock/examples/operators/ask => ../ask
