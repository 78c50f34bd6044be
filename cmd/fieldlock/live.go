package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fieldlock/fieldlock/immutability/builtin"
	"github.com/fieldlock/fieldlock/internal/compare"
	"github.com/fieldlock/fieldlock/internal/manifest"
	"github.com/fieldlock/fieldlock/internal/manifest/cluster"
	"github.com/fieldlock/fieldlock/internal/yamldoc"
)

// liveFlags choose the cluster of check --live.
type liveFlags struct {
	live bool
	cluster.Options
}

func (o *liveFlags) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.live, "live", false, "compare NEW with the objects of the current cluster; nothing is written")
	cmd.Flags().StringVar(&o.Kubeconfig, "kubeconfig", "", "with --live: the kubeconfig `FILE`")
	cmd.Flags().StringVar(&o.Context, "context", "", "with --live: the `NAME` of the kubeconfig context")
	cmd.Flags().StringVarP(&o.Namespace, "namespace", "n", "", "with --live: the `NAMESPACE` of objects without one")
}

// readLive reads NEW from args, and OLD from the cluster.
func (c *checkCommand) readLive(r *manifest.Reader, args []string) (*compare.Input, error) {
	in := &compare.Input{}
	var err error
	if in.New, err = r.Read(args...); err != nil {
		return nil, err
	}
	if in.NewSchemas, in.Errs, err = r.Schemas(c.schemas...); err != nil {
		return nil, err
	}
	if in.Accepted, _, err = c.acceptances(nil); err != nil {
		return nil, err
	}
	from, err := cluster.Open(c.Options)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	crds, err := from.CRDs(ctx)
	if err != nil {
		in.Errs = append(in.Errs, err)
	}
	// The cluster has its CRDs before and after the change, unless NEW has others.
	ofCluster := manifest.Objects([]manifest.File{crds}).CRDs
	in.OldSchemas.CRDs = append(in.OldSchemas.CRDs, ofCluster...)
	in.NewSchemas.CRDs = append(in.NewSchemas.CRDs, ofCluster...)
	objects := manifest.Objects(in.New).Objects
	old := manifest.File{Name: cluster.Name, Path: cluster.Name, Found: true}
	in.Server = map[*yamldoc.Document][]compare.ServerRefusal{}
	live, errs := from.Fetch(ctx, objects, r.Step)
	notAsked := 0
	for i, l := range live {
		if errs[i] != nil {
			in.Errs = append(in.Errs, errs[i])
		}
		if l.Old == nil {
			continue
		}
		old.Documents = append(old.Documents, l.Old)
		if !l.DryRun {
			notAsked++
		}
		for _, refusal := range l.Refusals {
			in.Server[objects[i].Document] = append(in.Server[objects[i].Document], compare.ServerRefusal(refusal))
		}
	}
	in.Old = []manifest.File{old}
	if notAsked > 0 {
		in.Warnings = append(in.Warnings, fmt.Sprintf("the API server was not asked about %d of the objects, as a dry run of them is not possible here", notAsked))
	}
	return in, c.builtinOf(from.Minor)
}

// builtinOf takes the built-in kinds of the cluster's minor, unless the user names another one.
func (c *checkCommand) builtinOf(minor string) error {
	if c.noBuiltin || c.minor != "" {
		return nil
	}
	kinds, err := builtin.For(minor)
	if err != nil {
		fmt.Fprintf(c.err, "warning: built-in kinds are checked as Kubernetes %s has them: %v\n", c.options.Builtin.Minor(), err)
		return nil
	}
	c.options.Builtin = kinds
	return nil
}

// errLiveArgs is the error for --live with other sources.
var errLiveArgs = errors.New("check --live needs NEW only: files, directories or -; --git and --render go without --live")
