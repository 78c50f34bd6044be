package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/internal/manifest"
)

// sources are the flags that tell where OLD and NEW come from.
type sources struct {
	git     string
	renders []string
	timeout time.Duration
	accept  string

	writeAccept bool
}

func (o *sources) gitFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.git, "git", "", "compare with a `REV` of the git repository, or REV..REV2, REV...REV2, REV... (from the merge base)")
}

func (o *sources) renderFlags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&o.renders, "render", nil, "a `COMMAND` that prints manifests, run in the trees of OLD and NEW; may be repeated")
	cmd.Flags().DurationVar(&o.timeout, "render-timeout", 5*time.Minute, "how long each command of --render may take")
}

func (o *sources) acceptFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.accept, "accept", "", "a `FILE` of what is accepted; by default "+manifest.AcceptFile+" here or at the root of the repository")
	cmd.Flags().BoolVar(&o.writeAccept, "write-accept", false, "accept all that this run finds: write entries for it, and exit with 0")
}
