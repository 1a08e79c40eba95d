package main

import (
	"encoding/json"
	"os"

	"sigs.k8s.io/kustomize/api/resource"
)

func init() { commands["git-address"] = runGitAddress }

// runGitAddress reads texts and prints for each what kustomize takes it for: null for a path, else the
// repository, the directory in it and the reference of an address, as origins record them.
func runGitAddress() error {
	var texts []string
	if err := json.NewDecoder(os.Stdin).Decode(&texts); err != nil {
		return err
	}
	type address struct {
		Repository string `json:"repository"`
		Directory  string `json:"directory"`
		Reference  string `json:"reference"`
	}
	answers := make([]*address, len(texts))
	for i, text := range texts {
		if origin := (&resource.Origin{}).Append(text); origin.Repo != "" {
			answers[i] = &address{Repository: origin.Repo, Directory: origin.Path, Reference: origin.Ref}
		}
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}
