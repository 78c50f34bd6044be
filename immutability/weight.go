package immutability

// weight is about how many bytes v takes as JSON, counted no further than beyond limit.
func weight(v any, limit int) int {
	const scalar = 8
	switch v := v.(type) {
	case string:
		return len(v) + scalar
	case map[string]any:
		sum := scalar
		for key, member := range v {
			if sum += len(key) + scalar + weight(member, limit-sum); sum > limit {
				break
			}
		}
		return sum
	case []any:
		sum := scalar
		for _, item := range v {
			if sum += weight(item, limit-sum); sum > limit {
				break
			}
		}
		return sum
	}
	return scalar
}
