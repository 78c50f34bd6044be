// Package kudo evaluates the parameters of KUDO operators: immutable parameters (KEP-30), forced pod restarts (KEP-27)
// and child operators that a parameter switches on and off (KEP-36).
//
// A webhook on Instances needs one call:
//
//	find := func(ctx context.Context, name string) (*kudo.OperatorVersion, error) {
//		object, err := client.Resource(operatorVersions).Namespace(request.Namespace).Get(ctx, name, metav1.GetOptions{})
//		if err != nil {
//			return nil, err
//		}
//		return kudo.OperatorVersionOf(object.Object)
//	}
//	admission, err := kudo.Review(ctx, request.Object.Raw, request.OldObject.Raw, find)
//
// It denies the request with admission.Err(), or admits it and stores admission.Resulting in spec.parameters. The
// program examples/instances is such a webhook.
//
// [Review] and [OperatorVersion.Admit] take a value as given explicitly when the new Instance has it: a webhook cannot
// see more, and KUDO itself decides like this. A command line knows what its user asks for in this very operation, so
// [OperatorVersion.Install], [OperatorVersion.Update] and [OperatorVersion.Upgrade] take the requested values apart
// from the current ones, and only the requested ones are explicit.
//
// Every evaluation starts with [OperatorVersion.Validate], since a definition that KUDO's verifier refuses may not mean
// what its author intended.
package kudo
