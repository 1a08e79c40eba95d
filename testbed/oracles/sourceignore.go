package main

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/fluxcd/pkg/sourceignore"
	"github.com/fluxcd/pkg/sourceignore/gitignore"
)

// ignoreCase asks which paths the patterns of one file exclude.
type ignoreCase struct {
	// Patterns is the text of an ignore file.
	Patterns string `json:"patterns"`
	// Domain is the directory that the file stands in, slash separated, empty for the root.
	Domain string `json:"domain"`
	// Paths are asked for; one that ends in a slash is a directory.
	Paths []string `json:"paths"`
}

func init() {
	commands["sourceignore"] = func() error {
		var cases []ignoreCase
		if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
			return err
		}
		answers := make([][]bool, len(cases))
		for i, c := range cases {
			var domain []string
			if c.Domain != "" {
				domain = strings.Split(c.Domain, "/")
			}
			var patterns []gitignore.Pattern
			patterns = sourceignore.ReadPatterns(strings.NewReader(c.Patterns), domain)
			matcher := sourceignore.NewMatcher(patterns)
			answers[i] = make([]bool, len(c.Paths))
			for j, path := range c.Paths {
				directory := strings.HasSuffix(path, "/")
				answers[i][j] = matcher.Match(strings.Split(strings.TrimSuffix(path, "/"), "/"), directory)
			}
		}
		return json.NewEncoder(os.Stdout).Encode(answers)
	}
}
