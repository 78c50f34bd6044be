# The image of a release: the command and nothing else, no shell either. goreleaser puts the binaries into one folder for
# each platform. By hand: CGO_ENABLED=0 go build -o linux/amd64/fieldlock ./cmd/fieldlock && docker build --platform linux/amd64 .
# --git and --render run other programs, which this image does not have.
FROM scratch
ARG TARGETPLATFORM
COPY $TARGETPLATFORM/fieldlock /fieldlock
USER 65532:65532
WORKDIR /work
ENTRYPOINT ["/fieldlock"]
