package yamldoc

type element struct{}

func (s *yamlSource) layout() (*element, error) { return nil, nil }
func (s *jsonSource) layout() (*element, error) { return nil, nil }
