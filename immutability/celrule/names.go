package celrule

import "k8s.io/apiserver/pkg/cel"

// escape returns name as CEL spells it in a selection: my-field is my__dash__field. A name that CEL cannot say gives "".
func escape(name string) string {
	escaped, ok := cel.Escape(name)
	if !ok {
		return ""
	}
	return escaped
}
