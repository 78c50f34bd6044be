module github.com/fieldlock/fieldlock/examples/operators/ask

go 1.25.0
